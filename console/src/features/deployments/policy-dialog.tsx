import { useState } from 'react'
import type { Deployment } from '../../contract.ts'
import { Button } from '../../components/button.tsx'
import { CheckField } from '../../components/check-field.tsx'
import { Dialog } from '../../components/dialog.tsx'
import { FirstError } from '../../components/first-error.tsx'
import { TextField } from '../../components/field.tsx'
import { ErrorMessage } from '../../components/states.tsx'
import { SameCommand } from '../../domain/cli/same-command.tsx'
import { nameDeployment } from '../../domain/deployments/names.ts'
import { text } from '../../text/index.ts'
import { ManagedNotice } from './managed-notice.tsx'
import { findErrors, findReason, toChange, toDraft } from './policy-draft.ts'
import type { PolicyDraft, PolicyField } from './policy-draft.ts'
import { useUpdateDeployment } from './queries.ts'
import { writeScaleCommand } from './scale-command.ts'
import { ScheduleFields } from './schedule-fields.tsx'
import { usePrices } from './use-prices.ts'

const words = text.instances

/** Edits when a deployment sleeps, and how many instances it has and when. */
export function PolicyDialog({ deployment, onClose }: { deployment: Deployment; onClose: () => void }) {
  const [draft, setDraft] = useState(() => toDraft(deployment))
  const change = useUpdateDeployment(deployment.id)
  const errors = findErrors(draft)
  const reason = findReason(draft)
  const mayBeSaved = reason === undefined
  const priceOf = usePrices(true)
  const price =
    errors.most === undefined
      ? priceOf(deployment, deployment.selected_instance_type, Number(draft.most))
      : null
  const edit = (changes: Partial<PolicyDraft>) => {
    change.reset()
    setDraft({ ...draft, ...changes })
  }
  const field = (name: PolicyField) => ({
    value: draft[name],
    error: errors[name],
    autoComplete: 'off',
    onChange: ({ target }: { target: { value: string } }) => edit({ [name]: target.value }),
  })
  return (
    <Dialog
      onClose={onClose}
      title={words.policyTitle(nameDeployment(deployment))}
      description={words.policyNote}
      wide
      actions={
        <>
          <FirstError form="policy" error={reason} />
          <Button onClick={onClose}>{text.common.cancel}</Button>
          <Button
            variant="primary"
            type="submit"
            form="policy"
            busy={change.isPending}
            disabled={!mayBeSaved}
          >
            {text.common.save}
          </Button>
        </>
      }
    >
      <form
        id="policy"
        noValidate
        className="grid gap-4"
        onSubmit={(event) => {
          event.preventDefault()
          if (mayBeSaved) change.mutate(toChange(draft), { onSuccess: onClose })
        }}
      >
        <ManagedNotice deployments={[deployment]} />
        <TextField
          label={words.idleMinutes}
          hint={words.idleMinutesHint}
          inputMode="numeric"
          {...field('idleMinutes')}
        />
        <div className="grid gap-1.5">
          <div className="grid grid-cols-2 items-start gap-4">
            <TextField label={words.minInstances} inputMode="numeric" {...field('least')} />
            <TextField
              label={words.maxInstances}
              hint={price && words.upTo(price)}
              inputMode="numeric"
              {...field('most')}
            />
          </div>
          <p className="text-[0.8125rem] text-muted">{words.instancesHint}</p>
        </div>
        {draft.most !== draft.least && (
          <TextField
            label={words.targetConcurrency}
            hint={words.targetConcurrencyHint}
            inputMode="numeric"
            {...field('concurrency')}
          />
        )}
        <ScheduleFields
          rules={draft.rules}
          mostInstances={Number(draft.most)}
          onChange={(rules) => edit({ rules })}
        />
        <CheckField
          label={words.yields}
          hint={words.yieldsHint}
          checked={draft.yields}
          onChange={(yields) => edit({ yields })}
        />
        <CheckField
          label={words.separateCaches}
          hint={words.separateCachesHint}
          checked={draft.cacheScope === 'member'}
          onChange={(isChecked) => edit({ cacheScope: isChecked ? 'member' : 'organization' })}
        />
        <ErrorMessage error={change.error} />
        {mayBeSaved && <SameCommand command={writeScaleCommand(deployment, draft)} />}
      </form>
    </Dialog>
  )
}
