import { useState } from 'react'
import type { ScriptSession } from '../../contract.ts'
import { Button } from '../../components/button.tsx'
import { CodeBlock } from '../../components/code-block.tsx'
import { Dialog } from '../../components/dialog.tsx'
import { formatRelative } from '../../format.ts'
import { text } from '../../text/index.ts'
import { ScriptSessionForm } from './script-session-form.tsx'

const words = text.scriptSessions

/** Creates a session for scripts, and shows its cookie once. */
export function ScriptSessionDialog({ onClose }: { onClose: () => void }) {
  const [session, setSession] = useState<ScriptSession | null>(null)
  if (session !== null) return <CookieDialog session={session} onDone={onClose} />
  return (
    <Dialog open onOpenChange={onClose} title={words.create} description={words.description}>
      <ScriptSessionForm onCreated={setSession} />
    </Dialog>
  )
}

/** The cookie of a new session, shown only once, so only the confirmation closes the dialog. */
function CookieDialog({ session, onDone }: { session: ScriptSession; onDone: () => void }) {
  return (
    <Dialog open locked onOpenChange={onDone} title={words.copyTitle}>
      <div className="grid min-w-0 grid-cols-[minmax(0,1fr)] gap-4">
        <p className="text-muted">{words.copyDescription(formatRelative(session.expires_at))}</p>
        <CodeBlock code={`export BERTH_COOKIE='${session.cookie}'`} label={words.command} />
        <Button variant="primary" className="justify-self-start" onClick={onDone}>
          {words.done}
        </Button>
      </div>
    </Dialog>
  )
}
