import type { ReactNode } from 'react'
import { Button } from './button.tsx'
import { CodeBlock } from './code-block.tsx'
import { Dialog } from './dialog.tsx'

interface Words {
  copyTitle: string
  done: string
}

/** A dialog with a secret that is not shown again, so only the confirmation closes it. */
export function SecretDialog({
  words,
  description,
  secret,
  label,
  children,
  onDone,
}: {
  words: Words
  description: string
  secret: string
  /** What the secret is */
  label: string
  children?: ReactNode
  onDone: () => void
}) {
  return (
    <Dialog
      locked
      onClose={onDone}
      title={words.copyTitle}
      actions={
        <Button variant="primary" onClick={onDone}>
          {words.done}
        </Button>
      }
    >
      <div className="grid min-w-0 grid-cols-[minmax(0,1fr)] gap-4">
        <p className="text-muted">{description}</p>
        <CodeBlock code={secret} label={label} wrap />
        {children}
      </div>
    </Dialog>
  )
}
