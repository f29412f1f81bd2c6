/** Splits a failure reason of the form `<code>: <sentence>`; `code` is empty without one. */
export function parseFailure(reason: string): { code: string; sentence: string } {
  const [, code, sentence] = /^([a-z_]+): (.*)$/s.exec(reason) ?? []
  return code !== undefined && sentence !== undefined ? { code, sentence } : { code: '', sentence: reason }
}
