import { useState } from 'react'
import type { Organization } from '../../contract.ts'
import { useCan } from '../../api/session.ts'
import { Button } from '../../components/button.tsx'
import { ConfirmDialog } from '../../components/dialog.tsx'
import { Section } from '../../components/page.tsx'
import { ErrorMessage } from '../../components/states.tsx'
import { useToasts } from '../../components/toast.tsx'
import { text } from '../../text/index.ts'
import { useUpdateOrganization } from './queries.ts'

/** Whether members need a second factor; an owner can change it. */
export function SignInSettings({ organization }: { organization: Organization }) {
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
        onOpenChange={setAsking}
        title={text.secondFactors.requireTitle}
        description={text.secondFactors.requireDescription}
        confirmLabel={text.secondFactors.require}
        busy={update.isPending}
        onConfirm={change}
      >
        <ErrorMessage error={update.error} />
      </ConfirmDialog>
    </Section>
  )
}
