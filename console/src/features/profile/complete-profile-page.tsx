import { useNavigate } from '@tanstack/react-router'
import { useEffect } from 'react'
import { useSession } from '../../api/session.ts'
import { TextField } from '../../components/field.tsx'
import { fieldErrors, Form } from '../../components/form.tsx'
import { Page, Section } from '../../components/page.tsx'
import { text } from '../../text/index.ts'
import { useUpdateProfile } from './queries.ts'

/** What an account that came in through a provider still has to say; nothing else opens before. */
export function CompleteProfilePage() {
  const { user } = useSession()
  const update = useUpdateProfile()
  const navigate = useNavigate()
  const complete = !user.requires_profile_completion
  useEffect(() => {
    if (complete) void navigate({ to: '/deployments', replace: true })
  }, [complete, navigate])
  const errors = fieldErrors(update.error)
  return (
    <Page title={text.profile.completeTitle} description={text.profile.completeDescription}>
      <Section className="max-w-lg">
        <Form<'name' | 'organization'>
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
      </Section>
    </Page>
  )
}
