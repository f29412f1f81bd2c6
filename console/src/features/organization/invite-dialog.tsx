import { useMutation, useQuery } from '@tanstack/react-query'
import { Check, TriangleAlert } from 'lucide-react'
import { useId, useState } from 'react'
import type { InvitationRequestInput } from '../../contract.ts'
import { ApiError } from '../../api/client.ts'
import { Button } from '../../components/button.tsx'
import { Dialog } from '../../components/dialog.tsx'
import { TextArea } from '../../components/field.tsx'
import { fieldErrors, Form } from '../../components/form.tsx'
import { describeError } from '../../components/states.tsx'
import { useToasts } from '../../components/toast.tsx'
import { useMailIsFile } from '../../domain/installation.ts'
import { text } from '../../text/index.ts'
import { useManagedRoles } from './managed-roles.ts'
import { invitationsQuery, useInvite, useResendInvitation } from './queries.ts'
import { readEmails } from './read-emails.ts'
import { RoleChoice } from './role-choice.tsx'

const words = text.organization

type Role = NonNullable<InvitationRequestInput['role']>

/** What became of an address: null if the invitation was created */
interface Result {
  email: string
  error: unknown
}

interface InviteDialogProps {
  onClose: () => void
  onSent: () => void
  onSeeMember: (email: string) => void
}

/** Invites people with a role. Each address has its own result; those that failed stay in the field. */
export function InviteDialog({ onClose, onSent, onSeeMember }: InviteDialogProps) {
  const formId = useId()
  const invite = useInvite()
  const isFile = useMailIsFile()
  const roles = useManagedRoles().filter((role) => role !== 'super_admin')
  const toasts = useToasts()
  const [typed, setTyped] = useState('')
  const [results, setResults] = useState<Result[]>([])
  const [isMissing, setMissing] = useState(false)
  const sending = useMutation({
    mutationFn: async ({ emails, role }: { emails: string[]; role: Role }) => {
      const done: Result[] = []
      // One after the other, so that the list has their order. At the rate limit, the others would fail too.
      for (const email of emails) {
        const last = done.at(-1)?.error
        const isLimited = last instanceof ApiError && last.status === 429
        const send = async () => {
          if (isLimited) throw last
          await invite.mutateAsync({ email, role })
          return null
        }
        done.push({ email, error: await send().catch((error: unknown) => error) })
      }
      return done
    },
    onSuccess(done) {
      const failed = done.filter(({ error }) => error !== null)
      if (failed.length > 0) {
        setResults(done)
        setTyped(failed.map(({ email }) => email).join('\n'))
        return
      }
      const [{ email } = { email: '' }] = done
      toasts.success(
        done.length === 1
          ? (isFile ? words.createdFor : words.sentTo)(email)
          : (isFile ? words.createdMany : words.sentMany)(done.length),
      )
      onSent()
    },
  })
  const finish = (email: string) => {
    const rest = results.map((result) => (result.email === email ? { email, error: null } : result))
    setResults(rest)
    setTyped(
      readEmails(typed)
        .filter((one) => one !== email)
        .join('\n'),
    )
    if (rest.every(({ error }) => error === null)) onSent()
  }
  return (
    <Dialog
      onClose={onClose}
      title={words.inviteTitle}
      description={isFile ? words.inviteDescriptionFile : words.inviteDescription}
      actions={
        <>
          <Button onClick={onClose}>{text.common.cancel}</Button>
          <Button type="submit" form={formId} variant="primary" busy={sending.isPending}>
            {isFile ? words.createInvitation : words.sendInvitation}
          </Button>
        </>
      }
    >
      <Form<'emails' | 'role'>
        id={formId}
        error={null}
        onSubmit={({ emails, role }) => {
          const list = readEmails(emails)
          setMissing(list.length === 0)
          setResults([])
          if (list.length > 0) sending.mutate({ emails: list, role: role as Role })
        }}
      >
        <Results results={results} onResent={finish} onSeeMember={onSeeMember} />
        <TextArea
          label={words.emails}
          hint={words.emailsHint}
          name="emails"
          inputMode="email"
          autoComplete="off"
          autoCapitalize="none"
          spellCheck={false}
          required
          value={typed}
          onChange={({ target }) => setTyped(target.value)}
          error={isMissing ? words.noEmails : undefined}
        />
        <RoleChoice roles={roles} chosen="member" />
      </Form>
    </Dialog>
  )
}

interface ResultsProps {
  results: readonly Result[]
  onResent: (email: string) => void
  onSeeMember: (email: string) => void
}

/** A line for each address, with what to do about one that failed. */
function Results({ results, onResent, onSeeMember }: ResultsProps) {
  const isFile = useMailIsFile()
  return (
    <div role="status">
      {results.length > 0 && (
        <ul aria-label={words.results} className="max-h-48 divide-y overflow-y-auto rounded-md border">
          {results.map(({ email, error }) => (
            <li key={email} className="flex flex-wrap items-start justify-end gap-2 px-3 py-2">
              {error === null ? (
                <Check aria-hidden className="mt-0.5 size-4 shrink-0 text-good" />
              ) : (
                <TriangleAlert aria-hidden className="mt-0.5 size-4 shrink-0 text-bad" />
              )}
              <div className="min-w-0 flex-1 basis-52 wrap-anywhere">
                <p className="font-medium">{email}</p>
                <p className={`text-[0.8125rem] ${error === null ? 'text-muted' : 'text-bad'}`}>
                  {error === null
                    ? words.invited[isFile ? 'file' : 'mail']
                    : (fieldErrors(error)['email'] ?? describeError(error))}
                </p>
              </div>
              <Remedy email={email} error={error} onResent={onResent} onSeeMember={onSeeMember} />
            </li>
          ))}
        </ul>
      )}
    </div>
  )
}

function Remedy({ email, error, onResent, onSeeMember }: Result & Omit<ResultsProps, 'results'>) {
  const code = error instanceof ApiError ? error.code : null
  if (code === 'already_member') {
    return (
      <Button size="small" onClick={() => onSeeMember(email)}>
        {words.seeMember}
      </Button>
    )
  }
  return code === 'invitation_pending' && <ResendButton email={email} onResent={onResent} />
}

/** Resends the pending invitation of the same address, or renews its link. */
function ResendButton({ email, onResent }: { email: string; onResent: (email: string) => void }) {
  const { data: invitations } = useQuery(invitationsQuery)
  const resend = useResendInvitation()
  const toasts = useToasts()
  const resendWords = words[useMailIsFile() ? 'renewal' : 'resending']
  const pending = invitations?.find(
    ({ status, invitee_email: invitee }) =>
      status === 'pending' && invitee.toLowerCase() === email.toLowerCase(),
  )
  if (!pending) return null
  return (
    <Button
      size="small"
      busy={resend.isPending}
      aria-label={resendWords.buttonFor(email)}
      onClick={() => resend.mutate(pending.id, { onSuccess: () => onResent(email), onError: toasts.error })}
    >
      {resendWords.button}
    </Button>
  )
}
