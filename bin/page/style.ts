/** The page's style sheet. */
export const style = `
:root { color-scheme: light; --dark: 0; --back: #ffffff; --panel: #e9edf3; --panel-2: #dde3ec; --text: #14181f; --soft: #4d5868;
  --line: #c3cbd8; --focus: #0b57d0; --accent: #0b57d0; --less: #1769aa; --more: #b3541e; --whole: #6b7686;
  --font: system-ui, sans-serif; }
@media (prefers-color-scheme: dark) { :root:not([data-theme=light]) { color-scheme: dark; --dark: 1; --back: #12151a; --panel: #1d222a;
  --panel-2: #262d37; --text: #e8ecf2; --soft: #a7b1c0; --line: #3a4350; --focus: #8ab4f8; --accent: #8ab4f8; --less: #5aa9e6;
  --more: #e8894a; --whole: #8d99ab; } }
:root[data-theme=dark] { color-scheme: dark; --dark: 1; --back: #12151a; --panel: #1d222a; --panel-2: #262d37; --text: #e8ecf2;
  --soft: #a7b1c0; --line: #3a4350; --focus: #8ab4f8; --accent: #8ab4f8; --less: #5aa9e6; --more: #e8894a; --whole: #8d99ab; }
* { box-sizing: border-box; }
html, body { height: 100%; margin: 0; }
body { display: flex; flex-direction: column; font: 14px/1.4 var(--font); background: var(--back); color: var(--text); }
button, select, input { font: inherit; color: inherit; background: var(--panel); border: 1px solid var(--line); border-radius: 5px;
  padding: 3px 9px; }
button { cursor: pointer; }
button:disabled { opacity: .45; cursor: default; }
:focus-visible { outline: 2px solid var(--focus); outline-offset: 1px; }
header { display: flex; flex-wrap: wrap; gap: 8px 14px; align-items: center; padding: 8px 14px; border-bottom: 1px solid var(--line); }
header h1 { font-size: 16px; margin: 0; }
header .sum { color: var(--soft); }
nav button[aria-current] { border-color: var(--accent); box-shadow: inset 0 -2px 0 var(--accent); font-weight: 600; }
.search { position: relative; margin-left: auto; }
.found { position: absolute; right: 0; z-index: 3; margin: 2px 0 0; padding: 4px; list-style: none; max-height: 50vh; overflow: auto;
  min-width: 22em; background: var(--back); border: 1px solid var(--line); border-radius: 6px; box-shadow: 0 4px 18px #0004; }
.found li { padding: 3px 8px; cursor: pointer; border-radius: 4px; }
.found li[aria-selected=true] { background: var(--panel-2); }
.crumbs { display: flex; flex-wrap: wrap; gap: 4px; align-items: center; padding: 6px 14px; }
.crumbs button { padding: 1px 7px; }
main { flex: 1; min-height: 0; padding: 0 14px 10px; }
main > div { height: 100%; }
.map { position: relative; overflow: hidden; }
.map canvas { position: absolute; inset: 0; width: 100%; height: 100%; }
.tip { position: absolute; pointer-events: none; max-width: 480px; padding: 5px 9px; background: var(--back); border: 1px solid
  var(--line); border-radius: 5px; box-shadow: 0 2px 8px #0003; font-size: 13px; overflow-wrap: anywhere; }
.legend { list-style: none; display: flex; flex-wrap: wrap; gap: 4px 14px; margin: 6px 0; padding: 0; font-size: 13px; color: var(--soft); }
.swatch { display: inline-block; width: 1em; height: 1em; vertical-align: -2px; border: 1px solid var(--line); }
.table-view { display: flex; flex-direction: column; }
.bar { display: flex; gap: 8px; align-items: center; padding-bottom: 6px; }
.scroll { flex: 1; overflow: auto; border: 1px solid var(--line); border-radius: 6px; }
table { border-collapse: collapse; width: 100%; }
caption { text-align: left; padding: 5px 8px; color: var(--soft); }
th, td { text-align: left; padding: 3px 8px; border-bottom: 1px solid var(--line); font-weight: 400; overflow-wrap: anywhere; }
thead th { position: sticky; top: 0; background: var(--panel); font-weight: 600; }
thead th button { border: 0; background: none; padding: 0; font-weight: 600; white-space: nowrap; }
.number { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
.grew { color: var(--more); } .shrank { color: var(--less); }
.link { border: 0; background: none; padding: 0; color: var(--accent); text-align: left; }
.passes { overflow: auto; max-width: 1100px; }
.passes code { background: var(--panel); padding: 1px 5px; border-radius: 4px; }
h2 { font-size: 15px; margin: 10px 0 4px; } h3 { font-size: 14px; margin: 10px 0 4px; }
.chart { list-style: none; margin: 8px 0; padding: 0; }
.chart li { display: grid; grid-template-columns: 15em 1fr 7em; gap: 8px; align-items: center; padding: 2px 0; }
.bar-name { overflow-wrap: anywhere; }
.bar-track { position: relative; height: 16px; background: var(--panel); border-radius: 3px; }
.bar-fill { position: absolute; top: 0; bottom: 0; border-radius: 3px; }
.bar-fill.less { background: var(--less); } .bar-fill.more { background: var(--more); } .bar-fill.whole { background: var(--whole); }
.calls { position: relative; overflow: auto; display: grid; grid-template-columns: 1fr minmax(300px, 1.3fr) 1fr; gap: 60px; }
.calls svg { position: absolute; inset: 0; pointer-events: none; }
.calls path { fill: none; stroke: var(--line); stroke-width: 1.5; }
.calls ul { list-style: none; margin: 0; padding: 0; }
.calls section { z-index: 1; }
.calls li { padding: 2px 0; }
.callers li { display: flex; flex-direction: row-reverse; align-items: baseline; gap: 6px; } .callers { text-align: right; }
.node { background: var(--panel); border: 1px solid var(--line); border-radius: 5px; padding: 2px 8px; max-width: 100%; overflow-wrap: anywhere; }
.node.outside { border-style: dashed; }
.centre h2 { margin-top: 10px; padding: 6px 10px; border-width: 2px; border-color: var(--accent); }
.small { font-size: 12px; color: var(--soft); }
dl { display: grid; grid-template-columns: max-content 1fr; gap: 3px 12px; margin: 8px 0; }
dt { color: var(--soft); } dd { margin: 0; overflow-wrap: anywhere; }
.calls .chips { display: flex; flex-wrap: wrap; gap: 4px; }
.chip { display: inline-block; border: 1px solid var(--line); border-radius: 4px; padding: 0 6px !important; font: 12px/1.6 ui-monospace, monospace; }
.chip.own { background: var(--more); color: #fff; } .chip.callees { background: color-mix(in srgb, var(--more) 35%, var(--back)); }
.chip.saved { background: var(--panel-2); border: 2px solid var(--accent); } .chip.preserved { border-style: dashed; color: var(--soft); }
.chip.given { text-decoration: underline; }
:root[data-theme=dark] .chip.own { color: #14181f; }
.calls .legend { display: block; }
.hidden { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); white-space: nowrap; }
[hidden] { display: none !important; }
@media (max-width: 800px) { .calls { grid-template-columns: 1fr; gap: 10px; } .calls svg { display: none; } .callers { text-align: left; } .callers li { flex-direction: row; }
  .chart li { grid-template-columns: 9em 1fr 6em; } .search { margin-left: 0; } }
`;
