import { Plus, X } from 'lucide-react'
import { classNames } from '../../class-names.ts'
import { Button } from '../../components/button.tsx'
import { UnlabeledSelect } from '../../components/field.tsx'
import { text } from '../../text/index.ts'
import { Action } from './action.tsx'
import { isUsable } from './targets.ts'
import type { Target } from './targets.ts'

interface DeploymentChoiceProps {
  targets: readonly Target[]
  names: ReadonlyMap<string, string>
  ids: readonly string[]
  /** The maximum number of selected targets. */
  max: number
  onChoose: (ids: readonly string[]) => void
}

/** Selects a deployment or one of its LoRAs, or several to compare. */
export function DeploymentChoice({ targets, names, ids, max, onChoose }: DeploymentChoiceProps) {
  const offered = targets.filter(isUsable)
  const next = offered
    .toSorted((a, b) => Number(b.status === 'running') - Number(a.status === 'running'))
    .find(({ id }) => !ids.includes(id))
  return (
    <div
      className={classNames(
        'flex min-w-0 items-center gap-2 sm:flex-wrap',
        ids.length > 1 && 'max-sm:grid max-sm:grid-cols-2',
      )}
    >
      {ids.map((id, place) => (
        <div key={id} className="flex min-w-0 items-center max-sm:flex-1">
          <UnlabeledSelect
            aria-label={
              ids.length > 1 ? text.playground.nthDeployment(place + 1) : text.playground.deployment
            }
            className="min-w-0 truncate max-sm:w-full sm:max-w-96"
            value={id}
            onChange={({ target }) => onChoose(ids.with(place, target.value))}
          >
            {!offered.some((one) => one.id === id) && (
              <option value={id}>{names.get(id) ?? text.playground.gone}</option>
            )}
            {offered
              .filter((one) => one.id === id || !ids.includes(one.id))
              .map((one) => (
                <option key={one.id} value={one.id}>
                  {toLabel(names.get(one.id) ?? one.id, one)}
                </option>
              ))}
          </UnlabeledSelect>
          {ids.length > 1 && (
            <Button
              variant="quiet"
              size="tiny"
              aria-label={text.playground.removeDeployment(names.get(id) ?? text.playground.gone)}
              onClick={() => onChoose(ids.toSpliced(place, 1))}
            >
              <X />
            </Button>
          )}
        </div>
      ))}
      {next && ids.length < max && (
        <Action
          icon={<Plus aria-hidden />}
          label={text.playground.addDeployment}
          onClick={() => onChoose([...ids, next.id])}
        />
      )}
    </div>
  )
}

function toLabel(name: string, { status }: Target) {
  return status === 'running' ? name : text.playground.withStatus(name, text.playground.status[status])
}
