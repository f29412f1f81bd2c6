import { Boxes, ChartColumn, CreditCard, Library, MessagesSquare, Users } from 'lucide-react'
import { useCan } from '../api/session.ts'
import { text } from '../text/index.ts'

const words = text.shell

/** The pages in the sidebar and the command palette that the person's role may open. */
export function useNavigation() {
  const can = useCan()
  return [
    { to: '/deployments', label: words.deployments, icon: Boxes },
    { to: '/catalog', label: words.catalog, icon: Library },
    { to: '/playground', label: words.playground, icon: MessagesSquare },
    { to: '/usage', label: words.usage, icon: ChartColumn },
    ...(can('manageBilling') ? ([{ to: '/billing', label: words.billing, icon: CreditCard }] as const) : []),
    { to: '/organization', label: words.organization, icon: Users },
  ] as const
}
