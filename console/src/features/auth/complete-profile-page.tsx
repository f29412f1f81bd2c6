import { useNavigate } from '@tanstack/react-router'
import { useEffect } from 'react'
import { useSession } from '../../api/session.ts'
import { TextField } from '../../components/field.tsx'
import { fieldErrors, Form } from '../../components/form.tsx'
import { useSignOut } from '../../domain/session/sign-out.ts'
import { text } from '../../text/index.ts'
import { AuthLayout, authLink } from './auth-layout.tsx'
import { useCompleteProfile } from './queries.ts'

/** Asks an account created through an identity provider for its name and organization. */
export function CompleteProfilePage() {
  const { user } = useSession()
  const update = useCompleteProfile()
  const signOut = useSignOut()
  const navigate = useNavigate()
  const complete = !user.requires_profile_completion
  useEffect(() => {
    if (complete) void navigate({ to: '/deployments', replace: true })
  }, [complete, navigate])
  const errors = fieldErrors(update.error)
  return (
    <AuthLayout
      title={text.profile.completeTitle}
      description={<p>{text.profile.completeDescription}</p>}
      footer={
        <span>
          {text.profile.signedInAs(user.email)}{' '}
          <button type="button" className={authLink} onClick={() => signOut.mutate()}>
            {text.shell.signOut}
          </button>
        </span>
      }
    >
      <Form<'name' | 'organization'>
        wide
        submitLabel={text.profile.complete}
        busy={update.isPending || complete}
        error={update.error}
        onSubmit={(values) => update.mutate(values)}
      >
        <TextField
          label={text.profile.yourName}
          name="name"
          autoComplete="name"
          required
          maxLength={255}
          defaultValue={user.name}
          error={errors.name}
        />
        <TextField
          label={text.profile.organization}
          hint={text.profile.organizationHint}
          name="organization"
          autoComplete="organization"
          required
          maxLength={255}
          error={errors.organization}
        />
      </Form>
    </AuthLayout>
  )
}
