import './markdown-math.css'
import 'katex/dist/katex.min.css'
import rehypeKatex from 'rehype-katex'
import remarkGfm from 'remark-gfm'
import remarkMath from 'remark-math'
import { MarkdownBlock } from './markdown-block.tsx'
import type { MarkdownPlugins } from './markdown-block.tsx'

const plugins: MarkdownPlugins = {
  remarkPlugins: [remarkGfm, [remarkMath, { singleDollarTextMath: false }]],
  // `maxSize` is in em and keeps a formula from covering the page.
  rehypePlugins: [[rehypeKatex, { maxSize: 40, errorColor: 'inherit' }]],
}

/** Renders Markdown whose math `delimitMath` has rewritten. Large, and only needed for math. */
export function MarkdownMath({ source }: { source: string }) {
  return <MarkdownBlock source={source} plugins={plugins} />
}
