const quote = 0x22
const backslash = 0x5c

/**
 * Returns the nesting depth at `to` of JSON that has `depth` at `from`, outside a string; or -1 if `to` is
 * inside a string.
 */
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

/**
 * Returns the names of the members that enclose the offset `to`, which is outside strings, in the JSON object
 * at `from`, outermost first.
 */
export function namesAround(text: string, from: number, to: number): string[] {
  const names: string[] = []
  let last = ''
  for (let position = from; position < to; position += 1) {
    const code = text.charCodeAt(position)
    if (code === quote) {
      const start = position + 1
      position = endOfString(text, start)
      last = text.slice(start, position)
    } else if ((code | 0x20) === 0x7b) names.push(last)
    else if ((code | 0x20) === 0x7d) names.pop()
  }
  return names.slice(1)
}

/** Returns the offset of the quote that ends the string whose text starts at `from`. */
function endOfString(text: string, from: number): number {
  let position = from
  while (position < text.length && text.charCodeAt(position) !== quote) {
    position += text.charCodeAt(position) === backslash ? 2 : 1
  }
  return position
}
