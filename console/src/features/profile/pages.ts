import { page } from '../../routing/page.ts'

export const profilePage = page({
  path: '/profile',
  load: () => import('./profile-page.tsx'),
  component: 'ProfilePage',
})
