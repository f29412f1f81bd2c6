import { useState } from 'react'
import { useCan } from '../../api/session.ts'
import { Button } from '../../components/button.tsx'
import { CopyButton } from '../../components/copy-button.tsx'
import { ConfirmDialog } from '../../components/dialog.tsx'
import { TextArea, TextField } from '../../components/field.tsx'
import { Form } from '../../components/form.tsx'
import { Section } from '../../components/page.tsx'
import { useSavedForm } from '../../components/saved-form.ts'
import { ErrorMessage } from '../../components/states.tsx'
import { SwitchField } from '../../components/switch-field.tsx'
import { useToasts } from '../../components/toast.tsx'
import type { Organization } from '../../contract.ts'
import { formatDay } from '../../format.ts'
import { text } from '../../text/index.ts'
import { AlertSettings } from './alerts/alert-settings.tsx'
import { Fact } from './fact.tsx'
import { useUpdateOrganization } from './queries.ts'

/** Name and description of the organization, how its members sign in, what may leave, and alerts. */
export function SettingsTab({ organization }: { organization: Organization }) {
  const can = useCan()
  return (
    <div className="grid gap-6">
      <OrganizationSettings organization={organization} />
      <SignInSettings organization={organization} />
      {can('updateOrganization') && <ExternalSettings organization={organization} />}
      {can('updateOrganization') && <AlertSettings />}
    </div>
  )
}

/** Name, description and properties; a form with the `updateOrganization` permission. */
function OrganizationSettings({ organization }: { organization: Organization }) {
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

/** Whether prompts may leave the server, for models of endpoints. */
function ExternalSettings({ organization }: { organization: Organization }) {
  const update = useUpdateOrganization()
  return (
    <Section className="max-w-2xl" title={text.endpoints.title}>
      <SwitchField
        label={text.endpoints.allowExternal}
        checked={organization.allow_external}
        onChange={(allowed) => update.mutate({ allow_external: allowed })}
      >
        {text.endpoints.allowExternalHint}
      </SwitchField>
      <ErrorMessage className="mt-3" error={update.error} />
    </Section>
  )
}

/** Whether members need a second factor; an owner can change it. */
function SignInSettings({ organization }: { organization: Organization }) {
  const mayChange = useCan()('manageSignIn')
  const [asking, setAsking] = useState(false)
  const update = useUpdateOrganization()
  const toasts = useToasts()
  const isRequired = organization.requires_second_factor
  const change = () =>
    update.mutate(
      { requires_second_factor: !isRequired },
      {
        onSuccess: () => {
          setAsking(false)
          toasts.success(isRequired ? text.secondFactors.noLongerRequired : text.secondFactors.nowRequired)
        },
      },
    )
  return (
    <Section
      className="max-w-2xl"
      title={text.secondFactors.organizationTitle}
      {...(!mayChange && { description: text.secondFactors.ownersDecide })}
    >
      <div className="flex flex-wrap items-center justify-between gap-x-6 gap-y-3">
        <p className="min-w-0">{isRequired ? text.secondFactors.required : text.secondFactors.notRequired}</p>
        {mayChange && (
          <Button
            busy={update.isPending}
            onClick={() => {
              update.reset()
              if (isRequired) change()
              else setAsking(true)
            }}
          >
            {isRequired ? text.secondFactors.stopRequiring : text.secondFactors.require}
          </Button>
        )}
      </div>
      {!asking && <ErrorMessage className="mt-3" error={update.error} />}
      <ConfirmDialog
        open={asking}
        onClose={() => setAsking(false)}
        title={text.secondFactors.requireTitle}
        description={text.secondFactors.requireDescription}
        confirmLabel={text.secondFactors.require}
        busy={update.isPending}
        error={update.error}
        onConfirm={change}
      />
    </Section>
  )
}
