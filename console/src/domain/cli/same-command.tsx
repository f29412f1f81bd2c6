import { CopyButton } from '../../components/copy-button.tsx'
import { text } from '../../text/index.ts'

/** The command that does what a dialog does. */
export function SameCommand({ command }: { command: string }) {
  return (
    <p className="flex items-start gap-2 text-[0.8125rem] text-muted">
      <span className="min-w-0 flex-1 pt-1 wrap-anywhere">
        {text.commands.sameAs} <code className="font-mono text-xs text-ink">{command}</code>
      </span>
      <CopyButton value={command} label={text.common.copy(text.commands.command)} />
    </p>
  )
}
