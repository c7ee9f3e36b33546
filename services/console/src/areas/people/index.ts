export { default as Explain } from './Explain.svelte';
export { default as Groups } from './Groups.svelte';
export { default as Keys } from './Keys.svelte';
export { default as Profile } from './Profile.svelte';
export { default as Roles } from './Roles.svelte';
export { default as Users } from './Users.svelte';
