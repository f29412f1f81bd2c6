import { useMutation } from '@tanstack/react-query'
import { MailWarning } from 'lucide-react'
import { callApi } from '../api/client.ts'
import { useSession } from '../api/session.ts'
import { Button } from '../components/button.tsx'
import { describeError } from '../components/states.tsx'
import { text } from '../text/index.ts'

/** Shown until the person has opened the link that verifies their address. */
export function EmailNotice() {
  const { user } = useSession()
  const resend = useMutation({
    mutationFn: () => callApi('POST', '/v1/user/email-verification/request'),
  })
  if (!user.requires_email_verification) return null
  return (
    <div className="flex flex-wrap items-center gap-x-3 gap-y-2 bg-warn-soft px-4 py-2 text-warn sm:px-8">
      <MailWarning aria-hidden className="size-4 shrink-0" />
      <p className="min-w-0 flex-1 wrap-anywhere">{text.shell.verifyEmail(user.email)}</p>
      <p role="status">
        {resend.isSuccess && text.shell.emailSent}
        {resend.error && describeError(resend.error)}
      </p>
      {!resend.isSuccess && (
        <Button size="small" busy={resend.isPending} onClick={() => resend.mutate()}>
          {text.shell.sendAgain}
        </Button>
      )}
    </div>
  )
}
