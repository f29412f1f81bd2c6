/** A choice that this browser remembers for the next visit, if it has storage. */
export const rememberedChoice = {
  read(name: string): string | null {
    try {
      return localStorage.getItem(`berth.${name}`)
    } catch {
      return null
    }
  },
  write(name: string, value: string): void {
    try {
      localStorage.setItem(`berth.${name}`, value)
    } catch {
      // Without storage, the choice lasts until the next visit.
    }
  },
}
