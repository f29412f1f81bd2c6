import type { Output } from '../base/output.ts'
import { cleanLine } from '../base/text.ts'
import type { Step } from './plan.ts'
import type { StepPrice } from './price-steps.ts'

const signs = { add: '+', change: '~', replace: '±', remove: '-' } as const

/** Prints steps as a diff with the costs per hour, or one JSON document. */
export function printPlan(
  output: Output,
  steps: readonly Step[],
  prices: ReadonlyMap<Step, StepPrice>,
): void {
  const document = {
    changes: steps.map((step) => ({
      action: step.action,
      kind: step.kind,
      name: step.name,
      fields: step.differences.map(({ field, before = null, after = null }) => ({ field, before, after })),
      price_per_hour: prices.get(step) ?? null,
    })),
  }
  output.result(document, () => {
    for (const step of steps) {
      const price = prices.get(step)
      const cost = price === undefined ? '' : describeCost(price)
      output.line(paint(output, step, `${signs[step.action]} ${step.kind} ${cleanLine(step.name)}`) + cost)
      for (const { field, before, after } of step.differences) {
        const from = before === undefined ? '' : `${show(before)} → `
        output.line(cleanLine(`    ${field}: ${from}${show(after)}`))
      }
    }
  })
  output.note(summarize(steps))
}

function paint({ colors }: Output, { action }: Step, line: string): string {
  if (action === 'add') return colors.green(line)
  return action === 'remove' ? colors.red(line) : colors.yellow(line)
}

function describeCost({ before, after, currency }: StepPrice): string {
  const amount = (price: string | null) => (price === null ? 'nothing' : `${price} ${currency}/hour`)
  if (before === after) return before === null ? '' : `  ${amount(before)}`
  return `  ${before === null ? '' : `${amount(before)} → `}${amount(after)}`
}

function show(value: unknown): string {
  if (value === null) return 'none'
  if (Array.isArray(value) && value.every((each) => typeof each === 'string'))
    return value.join(', ') || 'none'
  return typeof value === 'string' ? value : JSON.stringify(value)
}

function summarize(steps: readonly Step[]): string {
  if (steps.length === 0) return 'No changes: the server has what the file says.'
  const count = (...actions: Step['action'][]) =>
    steps.filter(({ action }) => actions.includes(action)).length
  return `${count('add')} to add, ${count('change', 'replace')} to change, ${count('remove')} to remove.`
}
