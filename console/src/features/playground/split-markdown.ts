/**
 * Splits Markdown into independent chunks, so that a growing text is only parsed at its end: at blank lines
 * before a new block, but not inside fenced code or where a list may continue.
 */
export function splitMarkdown(source: string): string[] {
  // A link definition applies to the whole text.
  if (/^ {0,3}\[[^\]]+\]:/m.test(source)) return [source]
  const pieces: string[] = []
  let piece: string[] = []
  let fence: string | null = null
  let afterBlank = false
  for (const line of source.split('\n')) {
    if (fence === null && afterBlank && beginsAnew(line)) {
      pieces.push(piece.join('\n'))
      piece = []
    }
    piece.push(line)
    fence = fenceAfter(line, fence)
    afterBlank = fence === null && line.trim() === ''
  }
  pieces.push(piece.join('\n'))
  return pieces
}

function beginsAnew(line: string) {
  return line !== '' && !/^(\s|[-*+]( |$)|\d{1,9}[.)]?( |$))/.test(line)
}

/** The fence that is open after a line, as its backticks or tildes, or null. */
function fenceAfter(line: string, open: string | null): string | null {
  const [, marks, rest = ''] = /^\s*(`{3,}|~{3,})(.*)$/.exec(line) ?? []
  if (marks === undefined) return open
  if (open === null) return marks.startsWith('`') && rest.includes('`') ? null : marks
  return marks[0] === open[0] && marks.length >= open.length && rest.trim() === '' ? null : open
}
