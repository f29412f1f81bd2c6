import type { Deployment } from '../../contract.ts'
import { UnlabeledSelect } from '../../components/field.tsx'
import { text } from '../../text/index.ts'
import type { NumberedLine } from './log-lines.ts'

const words = text.instances

interface InstanceFilterProps {
  deployment: Deployment
  lines: readonly NumberedLine[]
  /** An id; null for all */
  value: string | null
  onChange: (id: string | null) => void
}

/** Selects the instance whose lines are shown, if the log has lines of several. */
export function InstanceFilter({ deployment, lines, value, onChange }: InstanceFilterProps) {
  const ids = [...new Set(lines.map(({ instance }) => instance))]
  if (ids.length < 2 && value === null) return null
  return (
    <UnlabeledSelect
      aria-label={words.whoseLines}
      value={value ?? ''}
      onChange={({ target }) => onChange(target.value === '' ? null : target.value)}
      className="w-full sm:w-auto"
    >
      <option value="">{words.allInstances}</option>
      {ids.map((id, index) => (
        <option key={id} value={id}>
          {describeInstance(id, index + 1, deployment)}
        </option>
      ))}
    </UnlabeledSelect>
  )
}

function describeInstance(id: string, nth: number, { instances }: Deployment): string {
  const live = instances.find((instance) => instance.id === id)
  return words.nthInstance(nth, live ? words.statuses[live.status] : words.released)
}
