import { useCan, useSession } from '../../api/session.ts'
import type { Budget } from '../../contract.ts'
import { text } from '../../text/index.ts'
import { useMailIsFile } from '../installation.ts'

export interface BudgetWords {
  /** What the budget is for */
  name: string
  /** What happens at the limit, or what has happened */
  consequence: string
  /** Says that a percentage is spent. */
  noticeTitle: (percent: number) => string
}

/** Returns a function that describes a budget to the person who reads it. */
export function useBudgetWords(): (budget: Budget) => BudgetWords {
  const { user } = useSession()
  const canRaise = useCan()('manageBilling')
  const isQuiet = useMailIsFile()
  return ({ scope, scope_id: scopeId, scope_name: scopeName, at_limit: atLimit, exhausted }) => {
    const whose = scope === 'member' && scopeId === user.id ? 'own' : scope
    const name = scopeName ?? ''
    return {
      name: text.budgets.names[whose](name),
      consequence: exhausted
        ? text.budgets.afterLimit[atLimit](whose, canRaise)
        : isQuiet && atLimit === 'notify'
          ? text.budgets.quietNotify
          : text.budgets.atLimit[atLimit](whose),
      noticeTitle: (percent) => text.budgets.noticeTitles[whose](percent, name),
    }
  }
}
