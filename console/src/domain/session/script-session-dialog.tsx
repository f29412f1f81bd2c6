import { useQuery, useMutation, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { ApiError, callApi } from '../../api/client.ts'
import { useSession } from '../../api/session.ts'
import { TextField } from '../../components/field.tsx'
import { fieldErrors, Form } from '../../components/form.tsx'
import { SecretDialog } from '../../components/secret-dialog.tsx'
import { Notice, Skeleton } from '../../components/states.tsx'
import type { ScriptSession } from '../../contract.ts'
import { Button } from '../../components/button.tsx'
import { Dialog } from '../../components/dialog.tsx'
import { formatRelative } from '../../format.ts'
import { text } from '../../text/index.ts'
import { usePasswordsAllowed } from '../installation.ts'
import { ConfirmField } from '../second-factors/confirm-field.tsx'
import { confirmIdentity } from '../second-factors/confirm-identity.ts'
import type { Confirmation } from '../second-factors/confirm-identity.ts'
import { profileQuery } from './profile-query.ts'
import { sessionsQuery } from './sessions-query.ts'

const words = text.scriptSessions

/** Creates a session for scripts, and shows its cookie once. */
export function ScriptSessionDialog({ onClose }: { onClose: () => void }) {
  const [session, setSession] = useState<ScriptSession | null>(null)
  if (session !== null) {
    return (
      <SecretDialog
        words={words}
        description={words.copyDescription(formatRelative(session.expires_at))}
        secret={`export BERTH_COOKIE='${session.cookie}'`}
        label={words.command}
        onDone={onClose}
      />
    )
  }
  return (
    <Dialog onClose={onClose} title={words.create} description={words.description}>
      <ScriptSessionForm onCreated={setSession} />
    </Dialog>
  )
}

/** Names a session for scripts. Needs a confirmation, or a recent sign-in at the identity provider. */
function ScriptSessionForm({ onCreated }: { onCreated: (session: ScriptSession) => void }) {
  const creation = useCreateScriptSession(onCreated)
  const profile = useQuery(profileQuery)
  const asksPassword = usePasswordsAllowed() && profile.data?.has_password
  if (profile.isPending) return <Skeleton className="h-40 rounded-lg" />
  const { error } = creation
  const isTooOld = error instanceof ApiError && error.code === 'sign_in_again'
  return (
    <Form<'name' | 'password'>
      submitLabel={words.submit}
      busy={creation.isPending}
      error={error}
      remedy={isTooOld ? <SignInAgain /> : undefined}
      onSubmit={({ name, ...confirmation }) =>
        creation.mutate({ name, confirmation: asksPassword ? confirmation : null })
      }
    >
      <TextField
        label={words.name}
        hint={words.nameHint}
        name="name"
        maxLength={100}
        autoComplete="off"
        required
        error={fieldErrors(error).name}
      />
      {asksPassword ? <ConfirmField error={error} /> : <p className="text-muted">{words.bySso}</p>}
    </Form>
  )
}

/** Creates a script's session. `onCreated` runs even after the form closed: the cookie comes only once. */
function useCreateScriptSession(onCreated: (session: ScriptSession) => void) {
  const queryClient = useQueryClient()
  return useMutation({
    mutationFn: async ({ name, confirmation }: { name: string; confirmation: Confirmation | null }) => {
      const proof = confirmation === null ? {} : await confirmIdentity(confirmation)
      return callApi('POST', '/v1/auth/sessions', { body: { name, ...proof } })
    },
    onSuccess: (session) => {
      onCreated(session)
      void queryClient.invalidateQueries({ queryKey: sessionsQuery.queryKey })
    },
  })
}

function SignInAgain() {
  const { session } = useSession()
  const url = `/v1/sso/login/${encodeURIComponent(session.auth_method)}?return_to=${encodeURIComponent(location.pathname + location.search)}`
  return (
    <Notice tone="warn">
      <div className="grid justify-items-start gap-3">
        <p>{words.tooOld}</p>
        {session.auth_method !== 'password' && (
          <Button asChild size="small">
            <a href={url}>{words.signInAgain}</a>
          </Button>
        )}
      </div>
    </Notice>
  )
}
