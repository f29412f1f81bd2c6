import { useMutation } from '@tanstack/react-query'
import { copyText } from '../../components/copy-text.ts'
import { useToasts } from '../../components/toast.tsx'
import type { Invitation } from '../../contract.ts'
import { useMailIsFile } from '../../domain/installation.ts'
import { text } from '../../text/index.ts'
import { readInvitationLink, useCancelInvitation, useResendInvitation } from './queries.ts'

/** What admins do about an open invitation. A message tells the result. */
export function useInvitationActions({ id, invitee_email: email }: Pick<Invitation, 'id' | 'invitee_email'>) {
  const toasts = useToasts()
  const words = text.organization[useMailIsFile() ? 'renewal' : 'resending']
  const resend = useResendInvitation()
  const cancel = useCancelInvitation()
  const copyLink = useMutation({
    mutationFn: async () => copyText((await readInvitationLink(id)).url),
    onSuccess: () => toasts.success(text.organization.copiedLink(email)),
    onError: toasts.error,
  })
  const report = (message: string) => ({ onSuccess: () => toasts.success(message), onError: toasts.error })
  return {
    copyLink: { run: () => copyLink.mutate(), busy: copyLink.isPending },
    resend: { run: () => resend.mutate(id, report(words.done(email))), busy: resend.isPending },
    cancel: {
      run: () => cancel.mutate(id, report(text.organization.invitationCancelled(email))),
      busy: cancel.isPending,
    },
  }
}
