import { CreditCard } from 'lucide-react'
import { page } from '../../routing/page.ts'
import { readText } from '../../routing/search.ts'
import type { RawSearch } from '../../routing/search.ts'
import { text } from '../../text/index.ts'

export const billingPage = page({
  path: '/billing',
  /** `setup` is set after the payment processor redirects back from entering a card. */
  readSearch: ({ setup }: RawSearch): { setup?: string | undefined } => ({ setup: readText(setup) }),
  heading: text.pages.billing,
  frame: 'member',
  navigation: {
    icon: CreditCard,
    permission: 'manageBilling',
    titleWithoutBilling: text.pages.budgets.title,
  },
  load: () => import('./billing-page.tsx'),
  component: 'BillingPage',
})
