import { checkScenes } from './support/accessibility.ts'

checkScenes('dark')
