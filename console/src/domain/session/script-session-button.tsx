import { Suspense, useState } from 'react'
import { Button } from '../../components/button.tsx'
import { lazyPart } from '../../routing/lazy-part.ts'
import { text } from '../../text/index.ts'

const ScriptSessionDialog = lazyPart(() =>
  import('./script-session-dialog.tsx').then((module) => module.ScriptSessionDialog),
)

/** A button that creates a session for scripts in a dialog, and shows its cookie once. */
export function ScriptSessionButton() {
  const [creating, setCreating] = useState(false)
  return (
    <>
      <Button onClick={() => setCreating(true)}>{text.scriptSessions.create}</Button>
      {creating && (
        <Suspense>
          <ScriptSessionDialog onClose={() => setCreating(false)} />
        </Suspense>
      )}
    </>
  )
}
