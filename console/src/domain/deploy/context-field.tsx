import { SelectField } from '../../components/field.tsx'
import type { DeploymentPlan } from '../../contract.ts'
import { formatNumber } from '../../format.ts'
import { text } from '../../text/index.ts'
import { listContextChoices } from './context-choices.ts'

const words = text.catalog

/** Selects the least context that each request must get; null for as much as fits. */
export function ContextField({
  plan,
  minimum,
  onChoose,
}: {
  /** Undefined until the first plan is known. */
  plan: DeploymentPlan | undefined
  minimum: number | null | undefined
  onChoose: (tokens: number | null) => void
}) {
  return (
    <SelectField
      label={words.contextField}
      hint={words.contextFieldHint}
      value={minimum ?? ''}
      onChange={({ target }) => onChoose(target.value === '' ? null : Number(target.value))}
    >
      <option value="">{words.contextFits}</option>
      {listContextChoices(plan, minimum).map((tokens) => (
        <option key={tokens} value={tokens}>
          {words.contextAtLeast(formatNumber(tokens))}
        </option>
      ))}
    </SelectField>
  )
}
