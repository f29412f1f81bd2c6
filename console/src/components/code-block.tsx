import type { ReactNode } from 'react'
import { classNames } from '../class-names.ts'
import { text } from '../text/index.ts'
import { CopyButton } from './copy-button.tsx'

interface CodeBlockProps {
  code: string
  label: string
  /** Breaks long lines instead of scrolling sideways, for commands. */
  wrap?: boolean
  /** The code with highlighting. */
  children?: ReactNode
}

/** Code or a command with a copy button. */
export function CodeBlock({ code, label, wrap, children }: CodeBlockProps) {
  return (
    <div dir="ltr" className="flex min-w-0 items-start rounded-lg border bg-subtle">
      <pre
        tabIndex={0}
        aria-label={label}
        className={classNames(
          'min-w-0 flex-1 overflow-x-auto p-4 font-mono text-[0.8125rem] leading-relaxed',
          wrap && 'whitespace-pre-wrap wrap-anywhere',
        )}
      >
        <code>{children || code}</code>
      </pre>
      <div className="p-2 pl-0">
        <CopyButton value={code} label={text.common.copy(label)} />
      </div>
    </div>
  )
}
