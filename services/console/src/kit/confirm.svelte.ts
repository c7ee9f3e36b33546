// Asks before work that cannot be undone. The frame shows the question.

export interface Question {
  title: string;
  /** The consequence, counted. */
  text: string;
  action: string;
  /** The word that has to be typed. */
  word?: string;
  answer: (isConfirmed: boolean) => void;
}

class Confirmation {
  question = $state.raw<Question>();

  ask(question: Omit<Question, 'answer'>): Promise<boolean> {
    return new Promise((resolve) => {
      this.question = {
        ...question,
        answer: (isConfirmed) => {
          this.question = undefined;
          resolve(isConfirmed);
        },
      };
    });
  }
}

export const confirmation = new Confirmation();
