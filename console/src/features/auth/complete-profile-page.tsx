import { useNavigate } from '@tanstack/react-router'
import { useEffect } from 'react'
import { useSession } from '../../api/session.ts'
import { text } from '../../text/index.ts'
import { NameField, OrganizationField } from './account-fields.tsx'
import { AuthForm } from './auth-form.tsx'
import { AuthLayout } from './auth-layout.tsx'
import { useCompleteProfile } from './queries.ts'
import { SignedInFooter } from './signed-in-footer.tsx'

/** Asks an account created through an identity provider for its name and organization. */
export function CompleteProfilePage() {
  const { user } = useSession()
  const complete = useCompleteProfile()
  const navigate = useNavigate()
  const isComplete = !user.requires_profile_completion
  useEffect(() => {
    if (isComplete) void navigate({ to: '/deployments', replace: true })
  }, [isComplete, navigate])
  return (
    <AuthLayout
      title={text.auth.completeTitle}
      description={<p>{text.auth.completeDescription}</p>}
      footer={<SignedInFooter />}
    >
      <AuthForm<'name' | 'organization'>
        mutation={complete}
        submitLabel={text.auth.complete}
        onSubmit={(details) => complete.mutate(details)}
      >
        {(errors) => (
          <>
            <NameField defaultValue={user.name} error={errors.name} />
            <OrganizationField error={errors.organization} />
          </>
        )}
      </AuthForm>
    </AuthLayout>
  )
}
