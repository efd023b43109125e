/** Priority queue of bundles: the smallest key first, then the oldest. A binary heap. */
import type { Bundle } from "./bundle.js";

const before = (a: Bundle, b: Bundle): boolean => (a.key === b.key ? a.id < b.id : a.key < b.key);

export class BundleQueue {
  private readonly heap: Bundle[] = [];

  push(bundle: Bundle): void {
    const heap = this.heap;
    let at = heap.length;
    heap.push(bundle);
    while (at > 0) {
      const parent = (at - 1) >> 1;
      if (!before(bundle, heap[parent]!)) break;
      heap[at] = heap[parent]!;
      at = parent;
    }
    heap[at] = bundle;
  }

  /** Removes and returns the first bundle; null if the queue is empty. */
  pop(): Bundle | null {
    const heap = this.heap;
    if (heap.length === 0) return null;
    const top = heap[0]!;
    const last = heap.pop()!;
    const count = heap.length;
    if (count === 0) return top;
    let at = 0;
    for (;;) {
      let child = 2 * at + 1;
      if (child >= count) break;
      if (child + 1 < count && before(heap[child + 1]!, heap[child]!)) child++;
      if (!before(heap[child]!, last)) break;
      heap[at] = heap[child]!;
      at = child;
    }
    heap[at] = last;
    return top;
  }
}
