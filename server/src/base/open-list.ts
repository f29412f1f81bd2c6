/**
 * What is open, in no order. Not a Set: V8's outgrown hash tables refer to their successors. Once one is in
 * old space, minor collections keep all later tables and their items, which doubled the CPU time of a chat.
 */
export class OpenList<Item extends { openIndex: number }> {
  readonly #items: Item[] = []

  /** Returns a copy, so that items may leave meanwhile. */
  list(): Item[] {
    return this.#items.slice()
  }

  add(item: Item): void {
    item.openIndex = this.#items.push(item) - 1
  }

  delete(item: Item): void {
    const index = item.openIndex
    if (index < 0) return
    item.openIndex = -1
    const last = this.#items.pop()!
    if (last === item) return
    this.#items[index] = last
    last.openIndex = index
  }
}
