import { Link } from '@tanstack/react-router'
import { useCan } from '../../api/session.ts'
import { Button } from '../../components/button.tsx'
import { Section } from '../../components/page.tsx'
import type { Budget } from '../../contract.ts'
import { BudgetStanding } from '../../domain/budgets/budget-standing.tsx'
import { text } from '../../text/index.ts'

/** The budgets that limit the person's deployments. */
export function OwnBudgets({ budgets }: { budgets: readonly Budget[] }) {
  const canManage = useCan()('manageBilling')
  return (
    <Section
      flush
      title={text.budgets.title}
      description={text.budgets.ownHint}
      actions={
        canManage && (
          <Button asChild>
            <Link to="/billing" hash="budgets">
              {text.budgets.manage}
            </Link>
          </Button>
        )
      }
    >
      <ul className="divide-y">
        {budgets.map((budget) => (
          <BudgetStanding key={budget.id} budget={budget} />
        ))}
      </ul>
    </Section>
  )
}
