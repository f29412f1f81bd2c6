/** A size in bytes as text, such as `128 MiB`. */
export function writeMebibytes(bytes: number): string {
  return `${Math.ceil(bytes / 2 ** 20)} MiB`
}
