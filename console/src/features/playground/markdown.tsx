import { memo, Suspense } from 'react'
import remarkGfm from 'remark-gfm'
import { lazyPart } from '../../routing/lazy-part.ts'
import { delimitMath } from './delimit-math.ts'
import { MarkdownBlock } from './markdown-block.tsx'
import type { MarkdownPlugins } from './markdown-block.tsx'
import { splitMarkdown } from './split-markdown.ts'

const MarkdownMath = lazyPart(() => import('./markdown-math.tsx').then((module) => module.MarkdownMath))

const plugins: MarkdownPlugins = { remarkPlugins: [remarkGfm] }

/** Renders a model's Markdown, each block in the direction of its script. */
export function Markdown({ source }: { source: string }) {
  return (
    <div className={`${layout} leading-relaxed wrap-break-word`}>
      {splitMarkdown(source).map((piece, place) => (
        // Chunks are only appended, and only the last one grows.
        <Piece key={place} source={piece} />
      ))}
    </div>
  )
}

const layout = 'grid grid-cols-[minmax(0,1fr)] gap-3'

const Piece = memo(function Piece({ source }: { source: string }) {
  const math = delimitMath(source)
  const plain = <MarkdownBlock source={source} plugins={plugins} />
  return (
    <div dir="auto" className={layout}>
      {math === null ? (
        plain
      ) : (
        <Suspense fallback={plain}>
          <MarkdownMath source={math} />
        </Suspense>
      )}
    </div>
  )
})
