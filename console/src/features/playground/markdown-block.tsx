import { Suspense } from 'react'
import type { ReactNode } from 'react'
import ReactMarkdown from 'react-markdown'
import type { Components, Options } from 'react-markdown'
import { classNames } from '../../class-names.ts'
import { CodeBlock } from '../../components/code-block.tsx'
import { lazyPart } from '../../routing/lazy-part.ts'
import { text } from '../../text/index.ts'

const HighlightedCode = lazyPart(() =>
  import('./highlighted-code.tsx').then((module) => module.HighlightedCode),
)

export type MarkdownPlugins = Pick<Options, 'remarkPlugins' | 'rehypePlugins'>

/** Renders a part of a model's Markdown. HTML stays text, and images are not loaded. */
export function MarkdownBlock({ source, plugins }: { source: string; plugins: MarkdownPlugins }) {
  return (
    <ReactMarkdown {...plugins} components={components}>
      {source}
    </ReactMarkdown>
  )
}

const Heading = ({ children }: { children?: ReactNode }) => (
  <h3 className="mt-2 text-base font-semibold first:mt-0">{children}</h3>
)
const cell = 'border-b px-3 py-1.5 text-start align-top'

const components: Components = {
  // The answer has an h2. Deeper levels would leave gaps in the outline.
  h1: Heading,
  h2: Heading,
  h3: Heading,
  h4: Heading,
  h5: Heading,
  h6: Heading,
  p: ({ children }) => <p>{children}</p>,
  ul: ({ children }) => <ul className="grid list-disc gap-1 ps-6">{children}</ul>,
  ol: ({ children, start }) => (
    <ol start={start} className="grid list-decimal gap-1 ps-6">
      {children}
    </ol>
  ),
  li: ({ children, className }) => (
    <li
      className={classNames(
        '[&>ol]:mt-1 [&>p+p]:mt-2 [&>ul]:mt-1',
        className?.includes('task-list-item') && '-ms-5 list-none',
      )}
    >
      {children}
    </li>
  ),
  // Task list checkboxes are not interactive.
  input: ({ checked }) => (checked ? '☑' : '☐'),
  blockquote: ({ children }) => (
    <blockquote className="grid gap-3 border-s-2 border-line-strong ps-4 text-muted">{children}</blockquote>
  ),
  hr: () => <hr className="my-2" />,
  // An unsafe address, such as javascript:, arrives here as an empty one.
  a: ({ children, href }) =>
    href ? (
      <a
        href={href}
        target="_blank"
        rel="noopener noreferrer nofollow"
        className="text-accent underline underline-offset-4"
      >
        {children}
      </a>
    ) : (
      children
    ),
  // Loading the image would reveal to another server that the answer is read.
  img: ({ alt, src }) => <span className="text-muted">{text.answers.image(alt || String(src))}</span>,
  code: ({ children }) => (
    <code className="rounded bg-subtle px-1 py-0.5 font-mono text-[0.8125rem]">{children}</code>
  ),
  pre: ({ node }) => {
    const [code] = node?.children ?? []
    if (code?.type !== 'element') return null
    const [content] = code.children
    const [, language] = /language-([^\s,]+)/.exec(String(code.properties.className)) ?? []
    const source = content?.type === 'text' ? content.value.replace(/\n$/, '') : ''
    return (
      <CodeBlock code={source} label={language || text.answers.code}>
        {language && (
          <Suspense fallback={source}>
            <HighlightedCode code={source} language={language} />
          </Suspense>
        )}
      </CodeBlock>
    )
  },
  table: ({ children }) => (
    <div role="region" aria-label={text.answers.table} tabIndex={0} className="overflow-x-auto">
      <table className="border-collapse">{children}</table>
    </div>
  ),
  th: ({ children }) => <th className={`${cell} font-semibold whitespace-nowrap`}>{children}</th>,
  td: ({ children }) => <td className={cell}>{children}</td>,
}
