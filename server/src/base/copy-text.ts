/** Copies a text with one byte per character. A slice would keep the whole text that it was cut from. */
export function copyText(text: string): string {
  return Buffer.from(text, 'latin1').toString('latin1')
}
