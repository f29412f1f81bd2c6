import type { Organization } from '../../contract.ts'
import { useCan } from '../../api/session.ts'
import { CopyButton } from '../../components/copy-button.tsx'
import { TextArea, TextField } from '../../components/field.tsx'
import { Form } from '../../components/form.tsx'
import { Section } from '../../components/page.tsx'
import { useSavedForm } from '../../components/saved-form.ts'
import { formatDay } from '../../format.ts'
import { text } from '../../text/index.ts'
import { Fact } from './fact.tsx'
import { useUpdateOrganization } from './queries.ts'

/** Name, description and properties; a form with the `updateOrganization` permission. */
export function OrganizationSettings({ organization }: { organization: Organization }) {
  const mayUpdate = useCan()('updateOrganization')
  return (
    <Section
      className="max-w-2xl"
      title={text.organization.settings}
      {...(!mayUpdate && { description: text.organization.readOnly })}
    >
      <div className="grid gap-5">
        {mayUpdate && <SettingsForm organization={organization} />}
        <dl
          className={`grid grid-cols-[auto_minmax(0,1fr)] gap-x-6 gap-y-2 ${mayUpdate ? 'border-t pt-5' : ''}`}
        >
          {!mayUpdate && (
            <>
              <Fact name={text.organization.name}>{organization.name}</Fact>
              <Fact name={text.organization.description}>
                {organization.description ?? text.organization.noDescription}
              </Fact>
            </>
          )}
          <Fact name={text.organization.slug}>
            <span className="flex items-center gap-1">
              <code className="min-w-0 font-mono text-[0.8125rem] break-all">{organization.slug}</code>
              <CopyButton value={organization.slug} label={text.common.copy(text.organization.slug)} />
            </span>
            <span className="block text-[0.8125rem] text-muted">{text.organization.slugHint}</span>
          </Fact>
          <Fact name={text.organization.status}>
            {text.organization.organizationStatus[organization.status]}
          </Fact>
          <Fact name={text.organization.created}>{formatDay(organization.created_at)}</Fact>
        </dl>
      </div>
    </Section>
  )
}

function SettingsForm({ organization }: { organization: Organization }) {
  const { name, description } = organization
  const update = useUpdateOrganization()
  const { form, field } = useSavedForm({ saved: { name, description }, required: 'name', update })
  return (
    <Form {...form}>
      <TextField
        label={text.organization.name}
        autoComplete="organization"
        required
        maxLength={255}
        {...field('name')}
      />
      <TextArea
        label={text.organization.description}
        hint={text.organization.descriptionHint}
        maxLength={2_000}
        {...field('description')}
      />
    </Form>
  )
}
