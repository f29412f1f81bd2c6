/** Copies a Latin-1 text: a slice would keep the whole text that it was cut from in memory. */
export function copyText(text: string): string {
  return Buffer.from(text, 'latin1').toString('latin1')
}
