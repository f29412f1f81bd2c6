import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import type { Deployment } from '../../contract.ts'
import { Button } from '../../components/button.tsx'
import { Dialog } from '../../components/dialog.tsx'
import { TextField } from '../../components/field.tsx'
import { ErrorMessage } from '../../components/states.tsx'
import { nameDeployment } from '../../domain/deployments/names.ts'
import { text } from '../../text/index.ts'
import { findErrors, findShadowed, isValid, toChange, toDraft } from './policy-draft.ts'
import type { PolicyDraft, PolicyField } from './policy-draft.ts'
import { callableDeploymentsQuery, useUpdateDeployment } from './queries.ts'
import { ScheduleFields } from './schedule-fields.tsx'

const words = text.instances

/** Edits when a deployment sleeps, how many instances it has and when, and its alias. */
export function PolicyDialog({ deployment, onClose }: { deployment: Deployment; onClose: () => void }) {
  const [draft, setDraft] = useState(() => toDraft(deployment))
  const change = useUpdateDeployment(deployment.id)
  const errors = findErrors(draft)
  const mayBeSaved = isValid(draft)
  const { data: callable } = useQuery(callableDeploymentsQuery)
  const shadowed = findShadowed(deployment, draft.alias, callable?.items ?? [])
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
        <TextField
          label={words.idleMinutes}
          hint={words.idleMinutesHint}
          inputMode="numeric"
          {...field('idleMinutes')}
        />
        <div className="grid gap-1.5">
          <div className="grid grid-cols-2 items-start gap-4">
            <TextField label={words.minInstances} inputMode="numeric" {...field('least')} />
            <TextField label={words.maxInstances} inputMode="numeric" {...field('most')} />
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
        <label className="grid grid-cols-[auto_minmax(0,1fr)] gap-x-2.5">
          <input
            type="checkbox"
            className="mt-1 self-start accent-accent"
            checked={draft.yields}
            onChange={({ target }) => edit({ yields: target.checked })}
          />
          <span className="font-medium">{words.yields}</span>
          <span className="col-start-2 text-[0.8125rem] text-muted">{words.yieldsHint}</span>
        </label>
        <label className="grid grid-cols-[auto_minmax(0,1fr)] gap-x-2.5">
          <input
            type="checkbox"
            className="mt-1 self-start accent-accent"
            checked={draft.cacheScope === 'member'}
            onChange={({ target }) => edit({ cacheScope: target.checked ? 'member' : 'organization' })}
          />
          <span className="font-medium">{words.separateCaches}</span>
          <span className="col-start-2 text-[0.8125rem] text-muted">{words.separateCachesHint}</span>
        </label>
        <TextField label={words.alias} hint={words.aliasHint} spellCheck={false} {...field('alias')} />
        {shadowed.length > 0 && (
          <p role="status" className="text-[0.8125rem] text-muted">
            {words.shadows(shadowed.map(({ model_name: model, owner }) => `${model} (${owner.name})`))}
          </p>
        )}
        <ErrorMessage error={change.error} />
      </form>
    </Dialog>
  )
}
