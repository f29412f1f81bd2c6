import { page } from '../../routing/page.ts'
import { text } from '../../text/index.ts'

export const profilePage = page({
  path: '/profile',
  heading: text.pages.profile,
  frame: 'member',
  load: () => import('./profile-page.tsx'),
  component: 'ProfilePage',
})
