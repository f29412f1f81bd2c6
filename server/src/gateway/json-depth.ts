const quote = 0x22
const backslash = 0x5c

/** Returns the nesting depth at `to` of JSON that has `depth` at `from`, outside a string; or -1 if `to` is inside a string. */
export function depthAt(text: string, from: number, to: number, depth = 0): number {
  let reached = depth
  let inString = false
  for (let position = from; position < to; position += 1) {
    const code = text.charCodeAt(position)
    if (inString) {
      if (code === backslash) position += 1
      else if (code === quote) inString = false
    } else if (code === quote) inString = true
    // Brackets and braces differ in one bit.
    else if ((code | 0x20) === 0x7b) reached += 1
    else if ((code | 0x20) === 0x7d) reached -= 1
  }
  return inString ? -1 : reached
}
