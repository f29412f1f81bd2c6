import { text } from '../text/index.ts'
import { CopyButton } from './copy-button.tsx'

/** Code or a command with a copy button. */
export function CodeBlock({ code, label }: { code: string; label: string }) {
  return (
    <div className="relative min-w-0 rounded-lg border bg-subtle">
      <pre
        tabIndex={0}
        aria-label={label}
        className="overflow-x-auto p-4 pr-12 font-mono text-[0.8125rem] leading-relaxed"
      >
        <code>{code}</code>
      </pre>
      <div className="absolute top-2 right-2 rounded-md bg-subtle">
        <CopyButton value={code} label={text.common.copy(label)} />
      </div>
    </div>
  )
}
