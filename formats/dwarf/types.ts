/** Entries of types, and of what they have: members, enumerators, ranges, parameters of templates. */
import {
  type DebugNode,
  type DICompositeType,
  type DIDerivedType,
  type DISubprogram,
  type DISubroutineType,
  membersOf,
  type NodeOf,
} from "../../lto/ir/debug/nodes.js";
import { SectionBytes } from "./bytes.js";
import { At, DwOp, Flag, SpFlag, Tag } from "./constants.js";
import { type Context, isC, type UnitEntries } from "./context.js";
import { Entry } from "./entries.js";
import { appendOperations } from "./expressions.js";

const languageFortran = new Set([0x07, 0x08, 0x0e, 0x22, 0x23, 0x2d, 0x45, 0x46]);

const sized = new Set<number>([
  Tag.PointerType,
  Tag.PtrToMemberType,
  Tag.ReferenceType,
  Tag.RvalueReferenceType,
]);

/** Of scopes that are not types. */
export interface Scopes {
  /** The entry that something of a scope stands in. */
  parent(scope: DebugNode | null, unit: UnitEntries): Entry;
  /** The entry of a local variable, where one is there. */
  variable(node: DebugNode): Entry | null;
}

export class Types {
  private readonly indexTypes = new Map<UnitEntries, Entry>();
  private scopes!: Scopes;

  constructor(private readonly context: Context) {}
  useScopes(scopes: Scopes): void {
    this.scopes = scopes;
  }

  /** Says of which type something is: nothing where the node is none, which is `void`. */
  typed(entry: Entry, type: DebugNode | null, unit: UnitEntries, attribute: At = At.Type): void {
    const target = type === null ? null : this.entry(type, unit);
    if (target !== null) entry.entry(attribute, target);
  }

  /** The entry of a type, which is made in a unit if there is none; null for what is no type. */
  entry(node: DebugNode, unit: UnitEntries): Entry | null {
    const { context } = this;
    const known = context.shared.get(node);
    if (known !== undefined) return known;
    let entry: Entry;
    switch (node.kind) {
      case "DIBasicType":
      case "DIStringType":
      case "DIFixedPointType":
      case "DIDerivedType":
      case "DICompositeType":
        entry = new Entry(node.tag);
        break;
      case "DISubroutineType":
        entry = new Entry(Tag.SubroutineType);
        break;
      case "DISubrangeType":
        entry = new Entry(Tag.SubrangeType);
        break;
      default:
        return null;
    }
    context.shared.set(node, entry);
    const scope = node.kind === "DIStringType" || node.kind === "DISubroutineType" ? null : node.scope;
    const home = this.within(scope, unit, entry);
    context.defer(() => this.fill(entry, node, home));
    return entry;
  }

  /** Puts an entry where its scope is. @returns the unit that it is in: another one where the scope was asked for first */
  private within(scope: DebugNode | null, unit: UnitEntries, entry: Entry): UnitEntries {
    const parent = this.scopes.parent(scope, unit);
    parent.add(entry);
    return this.context.home(parent, unit);
  }

  private fill(
    entry: Entry,
    node: NodeOf<
      | "DIBasicType"
      | "DIStringType"
      | "DIFixedPointType"
      | "DIDerivedType"
      | "DICompositeType"
      | "DISubroutineType"
      | "DISubrangeType"
    >,
    unit: UnitEntries,
  ): void {
    switch (node.kind) {
      case "DIBasicType":
      case "DIFixedPointType":
        entry.text(At.Name, node.name);
        if (node.tag === Tag.UnspecifiedType) return;
        entry.number(At.Encoding, node.encoding);
        this.size(entry, node.size, unit);
        if ((node.flags & Flag.BigEndian) !== 0) entry.number(At.Endianity, 1);
        else if ((node.flags & Flag.LittleEndian) !== 0) entry.number(At.Endianity, 2);
        return;
      case "DIStringType":
        entry.text(At.Name, node.name);
        if (node.stringLength !== null) this.bound(entry, At.StringLength, node.stringLength, unit, 0);
        else if (node.stringLengthExpression !== null)
          this.bound(entry, At.StringLength, node.stringLengthExpression, unit, 0);
        else this.size(entry, node.size, unit);
        if (node.stringLocationExpression !== null)
          this.bound(entry, At.DataLocation, node.stringLocationExpression, unit, 0);
        if (node.encoding !== 0) entry.number(At.Encoding, node.encoding);
        return;
      case "DIDerivedType":
        this.derived(entry, node, unit);
        return;
      case "DICompositeType":
        this.composite(entry, node, unit);
        return;
      case "DISubroutineType":
        this.subroutine(entry, node, unit);
        return;
      case "DISubrangeType":
        entry.text(At.Name, node.name);
        this.typed(entry, node.baseType, unit);
        this.size(entry, node.size, unit);
        this.context.place(entry, unit, node.file, node.line);
        if (node.lowerBound !== null) this.bound(entry, At.LowerBound, node.lowerBound, unit, -1n);
        if (node.upperBound !== null) this.bound(entry, At.UpperBound, node.upperBound, unit, -1n);
        if (node.stride !== null) this.bound(entry, At.ByteStride, node.stride, unit, -1n);
        return;
    }
  }

  private size(entry: Entry, size: number | DebugNode, unit: UnitEntries): void {
    if (typeof size !== "number") this.bound(entry, At.ByteSize, size, unit, -1n);
    else if (size % 8 === 0) {
      if (size !== 0) entry.number(At.ByteSize, size / 8);
    } else entry.number(At.ByteSize, Math.ceil(size / 8));
  }

  private accessibility(entry: Entry, flags: number): void {
    const access = flags & Flag.Public;
    // DWARF's order is the other way round.
    if (access !== 0) entry.number(At.Accessibility, 4 - access);
  }

  private derived(entry: Entry, node: DIDerivedType, unit: UnitEntries): void {
    entry.text(At.Name, node.name);
    this.typed(entry, node.baseType, unit);
    if (!sized.has(node.tag)) this.size(entry, node.size, unit);
    if (node.tag === Tag.PtrToMemberType) this.typed(entry, node.extraData, unit, At.ContainingType);
    if (node.tag === Tag.TemplateAlias && node.extraData?.kind === "tuple")
      this.templateParameters(entry, membersOf(node.extraData), unit);
    this.accessibility(entry, node.flags);
    if ((node.flags & Flag.FwdDecl) === 0) this.context.place(entry, unit, node.file, node.line);
    if (node.tag === Tag.Typedef && node.align > 0) entry.udata(At.Alignment, node.align / 8);
    if (node.dwarfAddressSpace > 0 && sized.has(node.tag))
      entry.number(addressClass, node.dwarfAddressSpace - 1);
  }

  private composite(entry: Entry, node: DICompositeType, unit: UnitEntries): void {
    const declaration = (node.flags & Flag.FwdDecl) !== 0;
    if (node.tag === Tag.ArrayType) {
      entry.text(At.Name, node.name);
      this.array(entry, node, unit);
      return;
    }
    if (node.tag === Tag.VariantPart) {
      if (node.discriminator?.kind === "DIDerivedType")
        entry.entry(At.Discr, this.member(entry, node.discriminator, unit));
      else this.typed(entry, node.baseType, unit);
    }
    entry.text(At.Name, node.name);
    if (node.tag === Tag.EnumerationType) this.enumeration(entry, node, unit);
    else this.elements(entry, node, unit);
    this.typed(entry, node.vtableHolder, unit, At.ContainingType);
    if (node.specification !== null) this.typed(entry, node.specification, unit, At.Specification);
    if ((node.flags & Flag.ExportSymbols) !== 0) entry.flag(At.ExportSymbols);
    if (node.templateParams !== null) this.templateParameters(entry, membersOf(node.templateParams), unit);
    if ((node.flags & (Flag.PassByValue | Flag.PassByReference)) !== 0 && node.tag !== Tag.EnumerationType)
      entry.number(At.CallingConvention, (node.flags & Flag.PassByReference) !== 0 ? 4 : 5);
    this.accessibility(entry, node.flags);
    if (declaration) entry.flag(At.Declaration);
    else {
      if (node.tag !== Tag.VariantPart) {
        if (typeof node.size !== "number" || node.size !== 0) this.size(entry, node.size, unit);
        else entry.number(At.ByteSize, 0);
      }
      this.context.place(entry, unit, node.file, node.line);
    }
    if (node.runtimeLang !== 0) entry.number(0x3fe6 as At, node.runtimeLang);
    if (node.align > 0) entry.udata(At.Alignment, node.align / 8);
  }

  private array(entry: Entry, node: DICompositeType, unit: UnitEntries): void {
    if ((node.flags & Flag.Vector) !== 0) {
      entry.flag(At.GnuVector);
      this.size(entry, node.size, unit);
    }
    for (const [attribute, value] of [
      [At.DataLocation, node.dataLocation],
      [At.Associated, node.associated],
      [At.Allocated, node.allocated],
      [rankAttribute, node.rank],
      [bitStride, node.bitStride],
    ] as const)
      if (value !== null) this.bound(entry, attribute, value, unit, -1n);
    this.typed(entry, node.baseType, unit);
    for (const element of membersOf(node.elements)) {
      if (element.kind === "DISubrangeType") {
        const type = this.entry(element, unit);
        if (type !== null) entry.add(new Entry(Tag.SubrangeType)).entry(At.Type, type);
        continue;
      }
      if (element.kind !== "DISubrange" && element.kind !== "DIGenericSubrange") continue;
      const range = entry.add(
        new Entry(element.kind === "DISubrange" ? Tag.SubrangeType : Tag.GenericSubrange),
      );
      range.entry(At.Type, this.indexType(unit));
      const lowest = languageFortran.has(unit.node.language) ? 1n : 0n;
      if (element.lowerBound !== null) this.bound(range, At.LowerBound, element.lowerBound, unit, lowest);
      if (element.count !== null) this.bound(range, At.Count, element.count, unit, -1n);
      if (element.upperBound !== null) this.bound(range, At.UpperBound, element.upperBound, unit, -1n);
      if (element.stride !== null) this.bound(range, At.ByteStride, element.stride, unit, -1n);
    }
  }

  /** A bound: a constant (nothing where it is `none`), a variable, or an expression. */
  private bound(
    entry: Entry,
    attribute: At,
    value: DebugNode,
    unit: UnitEntries,
    none: bigint | number,
  ): void {
    if (value.kind === "constant") {
      if (value.value.valueKind !== "int" || value.value.value === BigInt(none)) return;
      if (value.value.value >= 0n) entry.number(attribute, value.value.value);
      else entry.sdata(attribute, value.value.value);
    } else if (value.kind === "DIExpression") {
      const bytes = new SectionBytes();
      if (appendOperations(bytes, value)) entry.expression(attribute, bytes);
    } else if (value.kind === "DIDerivedType") this.typed(entry, value, unit, attribute);
    else {
      this.context.atEnd(() => {
        const variable = this.scopes.variable(value);
        if (variable !== null) entry.entry(attribute, variable);
      });
    }
  }

  /** The type of indices, which languages don't name. */
  private indexType(unit: UnitEntries): Entry {
    const [known] = this.indexTypes.values();
    if (known !== undefined) return known;
    const entry = unit.root.add(new Entry(Tag.BaseType));
    entry.text(At.Name, "__ARRAY_SIZE_TYPE__");
    entry.number(At.ByteSize, 8);
    entry.number(At.Encoding, 7);
    this.indexTypes.set(unit, entry);
    return entry;
  }

  private enumeration(entry: Entry, node: DICompositeType, unit: UnitEntries): void {
    this.typed(entry, node.baseType, unit);
    if ((node.flags & Flag.EnumClass) !== 0) entry.flag(At.EnumClass);
    for (const element of membersOf(node.elements)) {
      if (element.kind !== "DIEnumerator") continue;
      const enumerator = entry.add(new Entry(Tag.Enumerator));
      enumerator.text(At.Name, element.name);
      this.constant(
        enumerator,
        At.ConstValue,
        element.value,
        element.isUnsigned || element.value > maxSigned,
      );
    }
  }

  /** A value of any size. */
  private constant(entry: Entry, attribute: At, value: bigint, unsigned: boolean): void {
    if (value < -maxSigned - 1n || value > maxUnsigned) {
      const bytes = new SectionBytes();
      bytes.fixed(value, 16);
      entry.put(attribute, 0x09, bytes);
    } else if (unsigned) entry.udata(attribute, BigInt.asUintN(64, value));
    else entry.sdata(attribute, BigInt.asIntN(64, value));
  }

  private elements(entry: Entry, node: DICompositeType, unit: UnitEntries): void {
    for (const element of membersOf(node.elements))
      switch (element.kind) {
        case "DISubprogram":
          this.method(element, unit);
          break;
        case "DIDerivedType":
          if (element.tag === Tag.Friend) {
            const friend = entry.add(new Entry(Tag.Friend));
            this.typed(friend, element.baseType, unit, friendAttribute);
          } else if ((element.flags & Flag.StaticMember) !== 0) this.staticMember(element, unit);
          else if (node.tag === Tag.VariantPart) this.variant(entry, element, unit);
          else this.member(entry, element, unit);
          break;
        case "DICompositeType":
          if (element.tag === Tag.VariantPart) {
            const part = entry.add(new Entry(Tag.VariantPart));
            this.context.shared.set(element, part);
            this.context.defer(() => this.composite(part, element, unit));
          }
          break;
        default:
          break;
      }
  }

  private variant(entry: Entry, node: DIDerivedType, unit: UnitEntries): void {
    const variant = entry.add(new Entry(Tag.Variant));
    const { extraData } = node;
    if (extraData?.kind === "constant" && extraData.value.valueKind === "int") {
      const { value, type } = extraData.value;
      variant.udata(At.DiscrValue, BigInt.asUintN(Math.min(64, type.bits), value));
    }
    this.member(variant, node, unit);
  }

  private member(parent: Entry, node: DIDerivedType, unit: UnitEntries): Entry {
    const entry = parent.add(new Entry(node.tag));
    this.context.shared.set(node, entry);
    entry.text(At.Name, node.name);
    this.typed(entry, node.baseType, unit);
    this.context.place(entry, unit, node.file, node.line);
    if (typeof node.offset !== "number") this.bound(entry, At.DataMemberLocation, node.offset, unit, -1n);
    else if (node.tag === Tag.Inheritance && (node.flags & Flag.Virtual) !== 0) {
      // Where the table of virtual functions says.
      const bytes = new SectionBytes();
      for (const byte of [0x12, DwOp.Deref, DwOp.Constu]) bytes.byte(byte);
      bytes.uleb(node.offset);
      for (const byte of [0x1c, DwOp.Deref, 0x22]) bytes.byte(byte);
      entry.expression(At.DataMemberLocation, bytes);
    } else if ((node.flags & Flag.BitField) !== 0) {
      entry.udata(At.BitSize, typeof node.size === "number" ? node.size : 0);
      entry.number(At.DataBitOffset, node.offset);
    } else {
      entry.number(At.DataMemberLocation, Math.floor(node.offset / 8));
      if (node.align > 0) entry.udata(At.Alignment, node.align / 8);
    }
    this.accessibility(entry, node.flags);
    if ((node.flags & Flag.Virtual) !== 0) entry.number(At.Virtuality, 1);
    if ((node.flags & Flag.Artificial) !== 0) entry.flag(At.Artificial);
    return entry;
  }

  /** A static member of a class: a declaration, of which there may be a definition elsewhere. */
  staticMember(node: DIDerivedType, asking: UnitEntries): Entry {
    const known = this.context.shared.get(node);
    if (known !== undefined) return known;
    const entry = new Entry(this.context.version >= 5 ? Tag.Variable : Tag.Member);
    this.context.shared.set(node, entry);
    const unit = this.within(node.scope, asking, entry);
    entry.text(At.Name, node.name);
    this.typed(entry, node.baseType, unit);
    this.context.place(entry, unit, node.file, node.line);
    entry.flag(At.External);
    entry.flag(At.Declaration);
    this.accessibility(entry, node.flags);
    const { extraData } = node;
    if (extraData?.kind === "constant" && extraData.value.valueKind === "int") {
      const { value, type } = extraData.value;
      const unsigned = isUnsigned(node.baseType);
      this.constant(entry, At.ConstValue, unsigned ? BigInt.asUintN(type.bits, value) : value, unsigned);
    } else if (extraData?.kind === "constant" && extraData.value.valueKind === "float") {
      const bytes = new SectionBytes();
      bytes.fixed(extraData.value.bits, floatBytes[extraData.value.type.kind] ?? 16);
      entry.put(At.ConstValue, 0x09, bytes);
    }
    if (node.align > 0) entry.udata(At.Alignment, node.align / 8);
    return entry;
  }

  private subroutine(entry: Entry, node: DISubroutineType, unit: UnitEntries): void {
    const types = node.types?.operands ?? [];
    this.typed(entry, types[0] ?? null, unit);
    this.parameters(entry, node, unit);
    const prototyped = !(types.length === 2 && types[1] === null);
    if (prototyped && isC(unit.node)) entry.flag(At.Prototyped);
    if (node.cc > 1) entry.number(At.CallingConvention, node.cc);
    this.references(entry, node.flags);
  }

  private references(entry: Entry, flags: number): void {
    if ((flags & Flag.LValueReference) !== 0) entry.flag(At.Reference);
    if ((flags & Flag.RValueReference) !== 0) entry.flag(At.RvalueReference);
  }

  /** Parameters as a type has them. */
  private parameters(entry: Entry, { types }: DISubroutineType, unit: UnitEntries): void {
    for (const type of types?.operands.slice(1) ?? []) {
      if (type === null) {
        entry.add(new Entry(Tag.UnspecifiedParameters));
        continue;
      }
      const parameter = entry.add(new Entry(Tag.FormalParameter));
      this.typed(parameter, type, unit);
      if (type.kind !== "DIDerivedType") continue;
      if ((type.flags & Flag.Artificial) !== 0) parameter.flag(At.Artificial);
      if ((type.flags & Flag.ObjectPointer) !== 0) entry.entry(At.ObjectPointer, parameter);
    }
  }

  /** A function that is declared: a member of a class mostly. */
  method(node: DISubprogram, unit: UnitEntries): Entry {
    const known = this.context.shared.get(node);
    if (known !== undefined) return known;
    const entry = new Entry(Tag.Subprogram);
    this.context.shared.set(node, entry);
    const home = this.within(node.scope, unit, entry);
    this.context.defer(() => this.subprogram(entry, node, home));
    return entry;
  }

  /** All that is said of a subprogram but where its code is. @param minimal its name only */
  subprogram(entry: Entry, node: DISubprogram, unit: UnitEntries, minimal = false): void {
    if (!minimal && node.declaration !== null) {
      const declared = this.method(node.declaration, unit);
      entry.entry(At.Specification, declared);
      if (node.file !== node.declaration.file || node.line !== node.declaration.line)
        this.context.place(entry, unit, node.file, node.line);
      if (node.declaration.linkageName === "" && node.linkageName !== "")
        entry.text(At.LinkageName, node.linkageName);
      const returned = node.type?.types?.operands[0] ?? null;
      // `auto` became a type.
      if (returned !== null && returned !== (node.declaration.type?.types?.operands[0] ?? null))
        this.typed(entry, returned, unit);
      return;
    }
    if (!minimal && node.linkageName !== "" && node.linkageName !== node.name)
      entry.text(At.LinkageName, node.linkageName);
    entry.text(At.Name, node.name);
    if (minimal) return;
    if (node.templateParams !== null) this.templateParameters(entry, membersOf(node.templateParams), unit);
    this.context.place(entry, unit, node.file, node.line);
    if ((node.flags & Flag.Prototyped) !== 0 && isC(unit.node)) entry.flag(At.Prototyped);
    const { type, spFlags, flags } = node;
    this.typed(entry, type?.types?.operands[0] ?? null, unit);
    if (type !== null && type.cc > 1) entry.number(At.CallingConvention, type.cc);
    const virtuality = spFlags & SpFlag.Virtuality;
    if (virtuality !== 0) {
      entry.number(At.Virtuality, virtuality);
      if (node.virtualIndex !== 0xffffffff) {
        const bytes = new SectionBytes();
        bytes.byte(DwOp.Constu);
        bytes.uleb(node.virtualIndex);
        entry.expression(At.VtableElemLocation, bytes);
      }
      this.typed(entry, node.containingType, unit, At.ContainingType);
    }
    if ((spFlags & SpFlag.Definition) === 0) {
      entry.flag(At.Declaration);
      if (type !== null) this.parameters(entry, type, unit);
    }
    if ((flags & Flag.Artificial) !== 0) entry.flag(At.Artificial);
    if ((spFlags & SpFlag.LocalToUnit) === 0) entry.flag(At.External);
    if ((flags & Flag.NoReturn) !== 0) entry.flag(At.Noreturn);
    this.references(entry, flags);
    this.accessibility(entry, flags);
    if ((flags & Flag.Explicit) !== 0) entry.flag(At.Explicit);
    if ((spFlags & SpFlag.MainSubprogram) !== 0) entry.flag(At.MainSubprogram);
    if ((spFlags & SpFlag.Pure) !== 0) entry.flag(At.Pure);
    if ((spFlags & SpFlag.Elemental) !== 0) entry.flag(At.Elemental);
    if ((spFlags & SpFlag.Recursive) !== 0) entry.flag(At.Recursive);
    if (this.context.version >= 5 && (spFlags & SpFlag.Deleted) !== 0) entry.flag(At.Deleted);
  }

  templateParameters(entry: Entry, list: readonly DebugNode[], unit: UnitEntries): void {
    for (const parameter of list) {
      if (parameter.kind === "DITemplateTypeParameter") {
        const child = entry.add(new Entry(Tag.TemplateTypeParameter));
        this.typed(child, parameter.type, unit);
        child.text(At.Name, parameter.name);
        if (parameter.defaulted) child.flag(At.DefaultValue);
      } else if (parameter.kind === "DITemplateValueParameter") {
        const child = entry.add(new Entry(parameter.tag));
        if (parameter.tag === Tag.TemplateValueParameter) this.typed(child, parameter.type, unit);
        child.text(At.Name, parameter.name);
        if (parameter.defaulted) child.flag(At.DefaultValue);
        this.templateValue(child, parameter, unit);
      }
    }
  }

  private templateValue(
    entry: Entry,
    { value, type }: NodeOf<"DITemplateValueParameter">,
    unit: UnitEntries,
  ): void {
    if (value === null) return;
    if (value.kind === "string") entry.text(At.GnuTemplateName, value.text);
    else if (value.kind === "tuple") this.templateParameters(entry, membersOf(value), unit);
    else if (value.kind === "constant") {
      const constant = value.value;
      if (constant.valueKind === "int") {
        const unsigned = isUnsigned(type);
        const number = unsigned ? BigInt.asUintN(constant.type.bits, constant.value) : constant.value;
        this.constant(entry, At.ConstValue, number, unsigned);
      } else if (constant.valueKind === "zero" && constant.type.kind === "ptr") entry.udata(At.ConstValue, 0);
      else if (constant.valueKind === "global") {
        const symbol = this.context.symbol(constant);
        if (symbol === null) return;
        const bytes = new SectionBytes();
        this.context.pushAddress(bytes, symbol);
        bytes.byte(DwOp.StackValue);
        entry.expression(At.Location, bytes);
      }
    }
  }
}

const addressClass = 0x33 as At;
const friendAttribute = 0x41 as At;
const rankAttribute = 0x71 as At;
const bitStride = 0x2e as At;
const floatBytes: Readonly<Record<string, number>> = { half: 2, bfloat: 2, float: 4, double: 8 };
const maxSigned = (1n << 63n) - 1n;
const maxUnsigned = (1n << 64n) - 1n;

/** Whether values of a type have no sign. */
function isUnsigned(type: DebugNode | null): boolean {
  let at = type;
  for (let depth = 0; at !== null && depth < 1000; depth++) {
    if (at.kind === "DIBasicType") return [0x02, 0x07, 0x08, 0x10].includes(at.encoding);
    if (at.kind === "DICompositeType") {
      if (at.tag !== Tag.EnumerationType) return true;
      if (at.baseType === null) return false;
      at = at.baseType;
    } else if (at.kind === "DIDerivedType") {
      if (sized.has(at.tag)) return true;
      at = at.baseType;
    } else return true;
  }
  return false;
}
