import type { Profile } from '../../../../server/src/contract.ts'
import { TextField } from '../../components/field.tsx'
import { fieldErrors, Form, useDraft } from '../../components/form.tsx'
import { Section } from '../../components/page.tsx'
import { useToasts } from '../../components/toast.tsx'
import { text } from '../../text/index.ts'
import { useUpdateProfile } from './queries.ts'

/** Edits the profile. Sends only changed fields, so that a display name derived from first and last name keeps following them. */
export function ProfileForm({ profile }: { profile: Profile }) {
  const { name, first_name, last_name, country, contact_number } = profile
  const { field, changes, clear } = useDraft({ name, first_name, last_name, country, contact_number })
  const update = useUpdateProfile()
  const toasts = useToasts()
  const errors = fieldErrors(update.error)
  const save = () => {
    const { name, ...clearable } = changes
    const cleared = Object.fromEntries(Object.entries(clearable).map(([key, value]) => [key, value || null]))
    update.mutate(
      { ...(name !== undefined && { name }), ...cleared },
      {
        onSuccess: () => {
          clear()
          toasts.success(text.common.saved)
        },
      },
    )
  }
  return (
    <Section title={text.profile.about} description={text.profile.aboutDescription}>
      <Form submitLabel={text.common.save} busy={update.isPending} error={update.error} onSubmit={save}>
        <TextField
          label={text.profile.name}
          autoComplete="name"
          required
          maxLength={255}
          error={errors.name}
          {...field('name')}
        />
        <div className="grid gap-4 sm:grid-cols-2">
          <TextField
            label={text.profile.firstName}
            autoComplete="given-name"
            maxLength={255}
            error={errors.first_name}
            {...field('first_name')}
          />
          <TextField
            label={text.profile.lastName}
            autoComplete="family-name"
            maxLength={255}
            error={errors.last_name}
            {...field('last_name')}
          />
          <TextField
            label={text.profile.country}
            autoComplete="country-name"
            maxLength={255}
            error={errors.country}
            {...field('country')}
          />
          <TextField
            label={text.profile.contactNumber}
            type="tel"
            autoComplete="tel"
            maxLength={255}
            error={errors.contact_number}
            {...field('contact_number')}
          />
        </div>
      </Form>
    </Section>
  )
}
