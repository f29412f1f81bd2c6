/** Code, which stays unchanged, and math in the delimiters that models use. */
const codeOrMath = new RegExp(
  [
    // Fenced code, also without its end.
    /^[\t >]*(?<fence>`{3,}|~{3,})[^\n]*(?:\n[\s\S]*?(?:^[\t >]*\k<fence>[`~]*[\t ]*$|(?![\s\S]))|(?![\s\S]))/,
    /(?<ticks>`+)(?!`)[\s\S]*?(?<!`)\k<ticks>(?!`)/,
    /(?<!\\)\\\[(?<brackets>[\s\S]+?)\\\]/,
    /(?<!\\)\\\((?<parentheses>[\s\S]+?)\\\)/,
    /(?<!\\)\$\$(?<dollars>[\s\S]+?)\$\$/,
    // As in Pandoc, so that prices stay text: no space inside the dollar signs and no digit behind them.
    /(?<![\w\\$])\$(?<dollar>[^\s$](?:[^\n$]*[^\s$\\])?)\$(?![\d$])/,
  ]
    .map(({ source }) => source)
    .join('|'),
  'gm',
)

/** Rewrites math for remark-math: a `$$` block, or `$$` on both sides. Null for a text without math. */
export function delimitMath(source: string): string | null {
  let found = false
  const written = source.replaceAll(codeOrMath, (match: string, ...rest) => {
    const offset = rest.at(-3) as number
    const { brackets, parentheses, dollars, dollar } = rest.at(-1) as Record<string, string | undefined>
    const display = brackets ?? dollars
    const body = (display ?? parentheses ?? dollar)?.trim()
    if (!body) return match
    found = true
    const before = source.slice(source.lastIndexOf('\n', offset - 1) + 1, offset)
    const [after = ''] = source.slice(offset + match.length).split('\n', 1)
    if (display !== undefined && /^[\t >]*$/.test(before) && after.trim() === '') {
      const lines = body.split('\n').filter((line) => line.trim() !== '')
      return ['$$', ...lines.map((line) => before + line.trimStart()), `${before}$$`].join('\n')
    }
    const line = body.replaceAll(/\s*\n\s*/g, ' ')
    return brackets === undefined ? `$$${line}$$` : `$$\\displaystyle ${line}$$`
  })
  return found ? written : null
}
