import type { Profile } from '../../contract.ts'
import { TextField } from '../../components/field.tsx'
import { Form } from '../../components/form.tsx'
import { Section } from '../../components/page.tsx'
import { useSavedForm } from '../../components/saved-form.ts'
import { text } from '../../text/index.ts'
import { useUpdateProfile } from './queries.ts'

/** Sends only changed fields, so that a display name derived from first and last name follows them. */
export function ProfileForm({ profile }: { profile: Profile }) {
  const { name, first_name, last_name, country, contact_number } = profile
  const saved = { name, first_name, last_name, country, contact_number }
  const { form, field } = useSavedForm({ saved, required: 'name', update: useUpdateProfile() })
  return (
    <Section title={text.profile.about} description={text.profile.aboutDescription}>
      <Form {...form}>
        <TextField
          label={text.profile.name}
          autoComplete="name"
          required
          maxLength={255}
          {...field('name')}
        />
        <div className="grid gap-4 sm:grid-cols-2">
          <TextField
            label={text.profile.firstName}
            autoComplete="given-name"
            maxLength={255}
            {...field('first_name')}
          />
          <TextField
            label={text.profile.lastName}
            autoComplete="family-name"
            maxLength={255}
            {...field('last_name')}
          />
          <TextField
            label={text.profile.country}
            autoComplete="country-name"
            maxLength={255}
            {...field('country')}
          />
          <TextField
            label={text.profile.contactNumber}
            type="tel"
            autoComplete="tel"
            maxLength={255}
            {...field('contact_number')}
          />
        </div>
      </Form>
    </Section>
  )
}
