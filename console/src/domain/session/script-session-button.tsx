import { useState } from 'react'
import type { ScriptSession } from '../../contract.ts'
import { Button } from '../../components/button.tsx'
import { CodeBlock } from '../../components/code-block.tsx'
import { Dialog } from '../../components/dialog.tsx'
import { formatRelative } from '../../format.ts'
import { text } from '../../text/index.ts'
import { ScriptSessionForm } from './script-session-form.tsx'

const words = text.scriptSessions

/** A button that creates a session for scripts in a dialog, and shows its cookie once. */
export function ScriptSessionButton() {
  const [creating, setCreating] = useState(false)
  const [session, setSession] = useState<ScriptSession | null>(null)
  return (
    <>
      <Button onClick={() => setCreating(true)}>{words.create}</Button>
      {creating && session === null && (
        <Dialog open onOpenChange={setCreating} title={words.create} description={words.description}>
          <ScriptSessionForm onCreated={setSession} />
        </Dialog>
      )}
      {session !== null && (
        <CookieDialog
          session={session}
          onDone={() => {
            setSession(null)
            setCreating(false)
          }}
        />
      )}
    </>
  )
}

/** The cookie of a new session, in a dialog that only the confirmation closes: the cookie is not shown again. */
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
