import { useState } from 'react'
import { Button } from '../../components/button.tsx'
import { ConfirmDialog } from '../../components/dialog.tsx'
import { ErrorMessage } from '../../components/states.tsx'
import { text } from '../../text/index.ts'
import { useAnswerInvitation } from './invitation-queries.ts'

/** The buttons to accept or decline, for the signed-in invitee. */
export function InvitationAnswer({
  token,
  organization,
  onJoined,
}: {
  token: string
  organization: string
  onJoined: () => void
}) {
  const [declining, setDeclining] = useState(false)
  const answer = useAnswerInvitation(token, onJoined)
  return (
    <>
      <ErrorMessage error={answer.error} />
      <div className="grid grid-cols-2 gap-3">
        <Button disabled={answer.isPending} onClick={() => setDeclining(true)}>
          {text.auth.decline}
        </Button>
        <Button
          variant="primary"
          busy={answer.isPending && answer.variables === 'accept'}
          onClick={() => answer.mutate('accept')}
        >
          {text.auth.accept}
        </Button>
      </div>
      <ConfirmDialog
        open={declining}
        onOpenChange={setDeclining}
        title={text.auth.declineTitle}
        confirmLabel={text.auth.decline}
        busy={answer.isPending}
        onConfirm={() => answer.mutate('reject', { onSettled: () => setDeclining(false) })}
      >
        {text.auth.declineDescription(organization)}
      </ConfirmDialog>
    </>
  )
}
