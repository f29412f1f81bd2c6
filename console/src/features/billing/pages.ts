import { page } from '../../routing/page.ts'
import { readText, type RawSearch } from '../../routing/search.ts'

export const billingPage = page({
  path: '/billing',
  /** `setup` is set after the payment processor redirects back from entering a card. */
  readSearch: ({ setup }: RawSearch): { setup?: string | undefined } => ({ setup: readText(setup) }),
  load: () => import('./billing-page.tsx'),
  component: 'BillingPage',
})
