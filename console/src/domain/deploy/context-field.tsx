import { useState } from 'react'
import { SelectField } from '../../components/field.tsx'
import type { DeploymentPlan } from '../../contract.ts'
import { formatNumber } from '../../format.ts'
import { text } from '../../text/index.ts'
import { listContextChoices } from './context-choices.ts'

const words = text.plan
/** What coding agents need, in tokens */
const codingContext = 32_768

/** Selects the least context of each request; null for as much as fits. Hidden without a choice. */
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
  // What was set stays in the list, so that the field is there after another choice.
  const [first] = useState(minimum)
  const choices = listContextChoices(plan, minimum ?? first)
  if (choices.length === 0) return null
  return (
    <SelectField
      label={words.contextField}
      hint={choices.some((tokens) => tokens >= codingContext) ? words.contextFieldHint : undefined}
      value={minimum ?? ''}
      onChange={({ target }) => onChoose(target.value === '' ? null : Number(target.value))}
    >
      <option value="">{words.contextFits}</option>
      {choices.map((tokens) => (
        <option key={tokens} value={tokens}>
          {words.contextAtLeast(formatNumber(tokens))}
        </option>
      ))}
    </SelectField>
  )
}
