import { useNavigate } from '@tanstack/react-router'
import { PiggyBank } from 'lucide-react'
import { useCan } from '../../api/session.ts'
import type { Command } from '../../components/command.ts'
import { text } from '../../text/index.ts'

/** A command that opens the budgets, for those who may change them. */
export function useBillingCommands(): Command[] {
  const navigate = useNavigate()
  if (!useCan()('manageBilling')) return []
  return [
    {
      group: 'pages',
      id: 'billing budgets',
      icon: PiggyBank,
      label: text.budgets.title,
      keywords: `${text.pages.billing.title} ${text.budgets.add}`,
      searchOnly: true,
      run: () => navigate({ to: '/billing', hash: 'budgets' }),
    },
  ]
}
